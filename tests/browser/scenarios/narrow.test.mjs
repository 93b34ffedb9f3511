import assert from "node:assert/strict";
import { act } from "../harness/browser.mjs";
import { everyPage, furnish } from "../harness/pages.mjs";
import { booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

scenario("no page is wider than a phone", async ({ house, browser }) => {
  await furnish(house);
  // Words that nowhere break by themselves.
  await house.mail({ id: "long@agency.example", subject: "L".repeat(400), from: `${"x".repeat(200)}@agency.example`, text_body: "y".repeat(3000) });
  await house.propose("long@agency.example", { ...booking.event, summary: "s".repeat(500) });
  const page = await browser.person("王芳", "admin", phone);
  const tooWide = [];
  for (const path of await everyPage(page)) {
    await page.goto(path);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390) tooWide.push(`${path}: ${width}`);
  }
  assert.deepEqual(tooWide, []);
});

scenario("a clerk confirms on a phone", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳", "clerk", phone);
  await page.getByRole("link", { name: "新建散客预订" }).tap();
  await act(page, "确认").tap();
  await page.getByRole("heading", { name: /已确认/ }).waitFor();
  assert.equal((await house.task(task)).task_status, "CONFIRMED");
});
