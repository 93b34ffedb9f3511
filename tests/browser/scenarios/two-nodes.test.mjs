import assert from "node:assert/strict";
import { booking, propose } from "../harness/mails.mjs";
import { postgres } from "../harness/settings.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("two nodes on one PostgreSQL are one console", async ({ house, browser }) => {
  const node = await house.secondNode();
  try {
    browser.goesTo(node);
    const task = await propose(house, booking);
    const page = await browser.person("王芳");
    await page.goto(`/console/tasks/${task}`);
    // The session, its forms and the version of the card are those of the database.
    await page.goto(`${node.url}/console/tasks/${task}`);
    await page.getByRole("button", { name: "确认" }).click();
    await page.getByRole("heading", { name: /已确认/ }).waitFor();
    await page.goto(`/console/tasks/${task}`);
    await page.getByRole("heading", { name: /已确认/ }).waitFor();
    assert.equal((await house.task(task)).history.length, 2);
  } finally {
    await node.close();
  }
}, { db: postgres() });
