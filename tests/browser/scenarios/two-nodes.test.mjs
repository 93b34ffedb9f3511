import assert from "node:assert/strict";
import { act } from "../harness/browser.mjs";
import { booking, propose } from "../harness/mails.mjs";
import { postgres } from "../harness/settings.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("two nodes on one PostgreSQL are one console", async ({ house, browser }) => {
  const node = await house.secondNode();
  try {
    browser.goesTo(node);
    const task = await propose(house, booking);
    const page = await browser.person("王芳");
    const board = await browser.person("李娜");
    await board.getByRole("link", { name: "新建散客预订" }).waitFor();
    await page.goto(`/console/tasks/${task}`);
    // The session, its forms and the version of the card are those of the database.
    await page.goto(`${node.url}/console/tasks/${task}`);
    await act(page, "确认").click();
    await page.getByRole("heading", { name: /已确认/ }).waitFor();
    // The other node's open board hears of it.
    await board.getByText("没有符合条件的任务。").waitFor();
    assert.equal((await house.task(task)).history.length, 2);
  } finally {
    await node.close();
  }
}, { db: postgres() });
