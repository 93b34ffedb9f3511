import assert from "node:assert/strict";
import { booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("a viewer reads the card, finds nothing to press there, and a form made by hand is refused", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("张总", "viewer");
  await page.goto(`/console/tasks/${task}`);
  await page.getByRole("cell", { name: "2047-01-15" }).waitFor();
  const buttons = await page.getByRole("main").getByRole("button").allTextContents();
  assert.deepEqual(buttons, []);

  await page.evaluate((task) => {
    const form = document.querySelector("form[action='/console/logout']");
    form.action = `/console/tasks/${task}`;
    for (const [name, value] of [["verdict", "confirm"], ["version", "1"]]) {
      const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
      form.append(field);
    }
  }, task);
  await page.getByRole("button", { name: "退出" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal((await house.task(task)).task_status, "PENDING_CONFIRMATION");
});
