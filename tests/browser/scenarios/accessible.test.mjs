import assert from "node:assert/strict";
import { everyPage, furnish } from "../harness/pages.mjs";
import { axeSource } from "../harness/settings.mjs";
import { scenario } from "../harness/scenario.mjs";

for (const colorScheme of ["light", "dark"]) {
  scenario(`axe finds nothing serious on any page, ${colorScheme}`, async ({ house, browser }) => {
    await furnish(house);
    const page = await browser.person("王芳", "admin", { colorScheme });
    const paths = await everyPage(page);
    const visitor = await browser.visitor({ colorScheme });
    const findings = await serious(visitor, "/console/login");
    for (const path of paths) findings.push(...(await serious(page, path)));
    assert.deepEqual(findings, []);
  });
}

async function serious(page, path) {
  await page.goto(path);
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .flatMap((violation) => violation.nodes.map((node) => `${path}: ${violation.id}: ${node.html}: ${node.failureSummary}`));
}
