import assert from "node:assert/strict";
import test from "node:test";
import { Browser } from "../harness/browser.mjs";
import { House } from "../harness/house.mjs";

test("what must not happen in a page is noticed when it does", async () => {
  const house = await House.open();
  const browser = await Browser.open(house);
  try {
    const page = await browser.visitor();
    await page.goto("/console/login");
    await page.evaluate(async () => {
      window.canary();
      alert("hostile");
      document.body.append(Object.assign(new Image(), { src: "https://evil.example/pixel" }));
      document.body.append(Object.assign(document.createElement("script"), { textContent: "canary()" }));
      setTimeout(() => { throw new Error("of a script"); });
      await fetch("/console/nothing-here");
    });
    await page.goto("http://192.0.2.1/").catch(() => {});
    const found = browser.findings.join("\n");
    for (const expected of [
      /the canary was called/, /dialog: hostile/, /console: .*evil\.example.*Content Security Policy/, /script: of a script/,
      /console: .*inline script.*Content Security Policy/, /404 for .*nothing-here/, /a request to http:\/\/192\.0\.2\.1/,
    ]) {
      assert.match(found, expected);
    }
  } finally {
    await browser.close();
    await house.close();
  }
});
