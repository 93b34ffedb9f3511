// Takes the pictures of README.md: `node take.mjs`. Each shows a page at a fixed minute of a made-up week.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Browser, logIn } from "../harness/browser.mjs";
import { startingAt } from "../harness/clock.mjs";
import { House } from "../harness/house.mjs";
import { output } from "../harness/settings.mjs";
import { BEGIN, NOW, daysBefore, thisMorning } from "./week.mjs";

const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

await mkdir(output, { recursive: true });
const house = await House.open({ environment: startingAt(BEGIN) });
try {
  const password = await house.person("王芳", "admin");
  await daysBefore(house);
  const { task, order } = await thisMorning(house);
  await house.serveAt(NOW);
  const browser = await Browser.open(house);
  try {
    const desk = await at(browser, DESK, password);
    await take(desk, "board", "/console/tasks");
    await take(desk, "card", `/console/tasks/${task}`);
    await take(desk, "conversation", await desk.getByRole("link", { name: /银杏读书会/ }).getAttribute("href"));
    await take(desk, "order", `/console/orders/${order}`);
    await desk.goto("/console/charts");
    await take(desk, "charts", await desk.getByRole("link", { name: "7 天" }).getAttribute("href"));
    const phone = await at(browser, PHONE, password);
    await take(phone, "card-phone", `/console/tasks/${task}`);
    browser.assertClean();
  } finally {
    await browser.close();
  }
} finally {
  await house.close();
}

async function at(browser, device, password) {
  const page = await browser.visitor({ ...device, colorScheme: "light", reducedMotion: "reduce" });
  await page.goto("/console/");
  await logIn(page, "王芳", password);
  return page;
}

async function take(page, name, path) {
  await page.goto(path);
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(output, `console-${name}.png`), animations: "disabled", caret: "hide" });
}
