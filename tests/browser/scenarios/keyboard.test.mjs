import assert from "node:assert/strict";
import { booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

/** More elements than a page has between its beginning and what is looked for. */
const MOST_TABS = 80;

scenario("from the log-in to a confirmed task without a mouse", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const password = await house.person("王芳", "clerk");
  const page = await browser.visitor();
  await page.goto("/console/");
  await page.keyboard.type("王芳");
  await page.keyboard.press("Tab");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "任务", level: 1 }).waitFor();
  await tabTo(page, "新建散客预订");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /新建散客预订/ }).waitFor();
  await tabTo(page, "确认");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /已确认/ }).waitFor();
  assert.equal((await house.task(task)).task_status, "CONFIRMED");
});

scenario("the first stop of each page leads past its navigation", async ({ browser }) => {
  const page = await browser.person("王芳");
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "跳到正文");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)));
});

/** Presses Tab until what is focused reads so; every stop on the way must be seen to be one. */
async function tabTo(page, text) {
  for (let stop = 0; stop < MOST_TABS; stop += 1) {
    await page.keyboard.press("Tab");
    const found = await focused(page);
    const unseen = await page.evaluate(() => {
      const stop = document.activeElement;
      const isSeen = getComputedStyle(stop).outlineStyle !== "none";
      return isSeen ? null : stop.outerHTML;
    });
    assert.equal(unseen, null, "the focus is seen");
    if (found === text) return;
  }
  assert.fail(`Tab does not lead to ${text}`);
}

/** What the focused element reads, without the hint of its key. */
function focused(page) {
  return page.evaluate(() => {
    const copy = document.activeElement.cloneNode(true);
    for (const hint of copy.querySelectorAll("kbd")) hint.remove();
    return copy.textContent.trim();
  });
}
