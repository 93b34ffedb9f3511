import assert from "node:assert/strict";
import { everyPage, furnish } from "../harness/pages.mjs";
import { scenario } from "../harness/scenario.mjs";

/** Latin words, but for codes (with `_`, or as `task:7`) and those that keys and standards have in Chinese too. */
const LATIN = /(?<![A-Za-z_])(?!(?:Enter|API|MCP|HTTP|REST|HMAC|SHA|Countersign)(?![A-Za-z]))[A-Za-z]{3,}(?![A-Za-z_]|:\d)/;

scenario("every page is all Chinese, and all English once that is chosen", async ({ house, browser }) => {
  await furnish(house);
  const page = await browser.person("wangfang", "admin");
  const paths = await everyPage(page);
  const foreign = [];
  for (const path of paths) foreign.push(...(await words(page, path, LATIN)));
  await page.getByRole("button", { name: "English" }).click();
  await page.getByRole("link", { name: "Tasks", exact: true }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  for (const path of paths) foreign.push(...(await words(page, path, /\p{Script=Han}/u)));
  assert.deepEqual(foreign, []);
  await page.getByRole("button", { name: "中文" }).click();
  await page.getByRole("link", { name: "任务", exact: true }).waitFor();
});

/** The page's own words that match: not those of mails, names and agents, which stand in elements of their own. */
async function words(page, path, pattern) {
  await page.goto(path);
  const found = await page.evaluate(() => {
    const own = [document.title.replace(/ · Countersign$/, "")];
    const others = "bdi, pre, code, kbd, mark, option, script, .brand, .person, [lang]:not(html)";
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement.closest(others)) own.push(walker.currentNode.data.trim());
    }
    const labelled = document.querySelectorAll("[aria-label], [placeholder], [title]");
    for (const element of labelled) {
      own.push(...["aria-label", "placeholder", "title"].map((name) => element.getAttribute(name) ?? ""));
    }
    return own;
  });
  return found.filter((text) => pattern.test(text)).map((text) => `${path}: ${text}`);
}
