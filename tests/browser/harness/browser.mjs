// Chromium under watch: whatever happens in any of its pages that must not happen is noted and fails the scenario.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium, output } from "./settings.mjs";

/** How long an act in a page may take, in milliseconds. */
const LIMIT = 10_000;

/** What hostile text tries to call. */
export const CANARY = "canary";

export class Browser {
  #chromium;
  #houses;
  #contexts = [];
  /** What happened that must not. */
  findings = [];

  static async open(house) {
    const browser = new Browser();
    browser.#houses = [house];
    browser.#chromium = await chromium.launch({
      executablePath: "/usr/bin/chromium",
      // Chromium refuses to run its sandbox as root.
      chromiumSandbox: process.getuid() !== 0,
      // Whatever slipped past the watch below would find no host either.
      args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
    });
    return browser;
  }

  /** Lets pages go to this server as well. */
  goesTo(house) {
    this.#houses.push(house);
  }

  /** A browser of a visitor's own: cookies and windows that nobody shares. `options` are Playwright's. */
  async visitor(options = {}) {
    const context = await this.#chromium.newContext({
      baseURL: this.#houses[0].url, locale: "zh-CN", timezoneId: "Asia/Shanghai", ...options,
    });
    this.#contexts.push(context);
    context.setDefaultTimeout(LIMIT);
    await context.tracing.start({ screenshots: true });
    await this.#watch(context);
    return context.newPage();
  }

  /** A page with a new person of this role logged in, as a visitor logs in. */
  async person(name, role = "clerk", options = {}) {
    const password = await this.#houses[0].person(name, role);
    const page = await this.visitor(options);
    await page.goto("/console/");
    await logIn(page, name, password);
    return page;
  }

  /** Fails when something happened that must not. */
  assertClean() {
    assert.deepEqual(this.findings, [], "nothing unwanted happens in the pages");
  }

  /** Keeps how the open pages look and what led there; returns where. */
  async keep(name) {
    await mkdir(output, { recursive: true });
    const kept = [];
    for (const [number, context] of this.#contexts.entries()) {
      const file = join(output, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}-${number + 1}`);
      for (const page of context.pages()) {
        await page.screenshot({ path: `${file}.png`, fullPage: true, timeout: LIMIT }).catch(() => {});
        await writeFile(`${file}.html`, await page.content().catch(() => ""));
      }
      await context.tracing.stop({ path: `${file}.zip` }).catch(() => {});
      kept.push(`${file}.png, .html and .zip`);
    }
    return kept;
  }

  async close() {
    await this.#chromium.close();
  }

  async #watch(context) {
    const note = (what) => this.findings.push(what);
    await context.exposeFunction(CANARY, () => note("the canary was called"));
    context.on("request", (request) => {
      if (!this.#isOurs(request.url())) note(`a request to ${request.url()}`);
    });
    context.on("response", (response) => {
      const isDocument = response.request().resourceType() === "document";
      if (response.status() >= 400 && !isDocument) note(`${response.status()} for ${response.url()}`);
    });
    context.on("console", (message) => {
      if (!["error", "warning"].includes(message.type())) return;
      // That a page has the status that a scenario is about; of all else there is a note above.
      if (!/server responded with a status of 4\d\d/.test(message.text())) note(`console: ${message.text()}`);
    });
    context.on("weberror", (error) => note(`script: ${error.error().message}`));
    context.on("dialog", (dialog) => {
      note(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
  }

  #isOurs(url) {
    return url === "about:blank" || this.#houses.some((house) => url.startsWith(`${house.url}/`));
  }
}

/** Logs in by the form that the page shows, and waits for the page that comes then. */
export async function logIn(page, name, password) {
  await sendLogIn(page, name, password);
  await page.getByRole("link", { name }).waitFor();
}

/** Sends the log-in form that the page shows. */
export async function sendLogIn(page, name, password) {
  await page.getByLabel("用户名").fill(name);
  await page.getByLabel("密码").fill(password);
  await page.getByRole("button", { name: "登录" }).click();
}

/** The button of an act, with or without the hint of its key; more than one act has such a word in its name. */
export function act(page, name) {
  return page.getByRole("button", { name: new RegExp(`^${name}( .)?$`) });
}
