import assert from "node:assert/strict";
import { booking } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("by night pages are dark and mails stay paper", async ({ house, browser }) => {
  const id = await house.mail({ ...booking.mail, text_body: null, html_body: "<p>豪华双床房</p>" });
  const page = await browser.person("王芳", "clerk", { colorScheme: "dark" });
  await page.goto(`/console/messages/${id}`);
  const mail = page.frameLocator("iframe").locator("body");
  assert.ok((await lightness(page.locator("body"))) < 0.2, "the page is dark");
  assert.ok((await lightness(mail)) > 0.9, "the mail is paper");
  await page.emulateMedia({ colorScheme: "light" });
  assert.ok((await lightness(page.locator("body"))) > 0.9, "by day the page is light");
});

/** How light the ground of an element is, from 0 to 1. */
function lightness(element) {
  return element.evaluate((found) => {
    const [red, green, blue] = getComputedStyle(found).backgroundColor.match(/[\d.]+/g).map(Number);
    return (red + green + blue) / 3 / 255;
  });
}
