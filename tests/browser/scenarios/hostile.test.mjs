import assert from "node:assert/strict";
import { hostile, allHostile, hostileHtml } from "../harness/hostile.mjs";
import { booking, change } from "../harness/mails.mjs";
import { everyPage } from "../harness/pages.mjs";
import { scenario } from "../harness/scenario.mjs";

/** What an agent would submit that repeats all it read. */
const event = {
  ...booking.event,
  summary: allHostile,
  case_keys: { group_code: hostile[1], confirmation_number: hostile[2], reservation_no: hostile[0] },
  proposed_changes: [
    ...hostile.map((text, index) => change(`field-${index} ${text}`.slice(0, 60), text, text)),
    ...booking.event.proposed_changes.map((proposed) => change(proposed.field, allHostile)),
  ],
  evidence: [{ source_message_id: null, quote: hostile[0] }, { source_message_id: hostile[1], quote: allHostile }],
  manual_review: { reason_code: "UNCLEAR", question: allHostile, candidates: [] },
  details: { [hostile[0]]: allHostile },
};

scenario("hostile text of mails, names, files and agents does nothing on any page", async ({ house, browser }) => {
  const names = hostile.map((text, index) => ({ name: `${text}.xlsx`, size: index, type: text }));
  const mail = { from: `${hostile[1]} <a@evil.example>`, to: [allHostile], cc: hostile, attachments: names };
  await house.mail({ id: "text@evil.example", conversation: hostile[0], subject: allHostile, text_body: allHostile, ...mail });
  await house.mail({ id: "html@evil.example", conversation: hostile[0], subject: hostile[4], html_body: hostileHtml, ...mail });
  const [task] = await house.propose("text@evil.example", event);
  const [decided] = await house.propose("html@evil.example", { ...event, event_type: "UNCLASSIFIED" });
  await house.command("tasks", "reject", decided, "--as", hostile[1], "--reason", allHostile);
  const page = await browser.person("<b>王</b> محمد", "admin");
  const paths = [...(await everyPage(page)), `/console/tasks/${decided}`, `/console/tasks?agency=${encodeURIComponent(allHostile)}`];
  for (const path of new Set([...paths, `/console/search?q=${encodeURIComponent(hostile[0])}`])) {
    await page.goto(path);
    // What waits for the hand or the eye.
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    assert.ok(page.url().startsWith(house.url), "the page is still here");
    assert.equal(await page.evaluate(() => document.querySelectorAll("base, meta[http-equiv], main script").length), 0);
  }
  await page.goto(`/console/tasks/${task}`);
  assert.equal(await page.locator("mark").first().textContent(), hostile[0], "the quote is found in the mail as text");
});

scenario("the frame of an HTML mail runs and loads nothing and leads nowhere", async ({ house, browser }) => {
  const id = await house.mail({ id: "html@evil.example", subject: "HTML", html_body: hostileHtml });
  const page = await browser.person("王芳");
  await page.goto(`/console/messages/${id}`);
  const frame = page.frameLocator("iframe");
  await frame.getByText("a paragraph of the mail").waitFor();
  const inside = frame.locator("a[href], form, img, script, iframe, object, video, [style], [onload], [onfocus]");
  assert.equal(await inside.count(), 0);
  assert.equal(await page.locator("iframe").getAttribute("sandbox"), "");
  await frame.getByText("lead away").click();
  assert.equal(new URL(page.url()).pathname, `/console/messages/${id}`);
});

scenario("a name from right to left turns nothing around it", async ({ house, browser }) => {
  const name = "\u202Eمحمد علي";
  await house.mail({ ...booking.mail, from: `${name} <m@agency.example>`, subject: `${name} 2047-01-15` });
  await house.propose(booking.mail.id, { ...booking.event, proposed_changes: [change("guest_name", name), change("rooms", 2)] });
  const page = await browser.person("王芳");
  await page.getByRole("link", { name: "新建散客预订" }).click();
  const cells = page.getByRole("row", { name: /客人姓名/ }).getByRole("cell");
  const [from, to] = [await cells.nth(0).boundingBox(), await cells.nth(1).boundingBox()];
  assert.ok(from.x < to.x, "the columns stay where they are");
  assert.equal(await page.getByRole("heading", { level: 1 }).evaluate((heading) => getComputedStyle(heading).direction), "ltr");
  await page.goto("/console/inbox");
  const [title, time] = [page.getByRole("link", { name: /2047-01-15/ }), page.getByRole("main").locator("time")];
  assert.ok((await title.boundingBox()).x < (await time.boundingBox()).x, "the date stays at the end of its line");
});
