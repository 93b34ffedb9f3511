import assert from "node:assert/strict";
import { act, sendLogIn } from "../harness/browser.mjs";
import { booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("a session that ends in the middle of typing costs a log-in and no word", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  const typed = "客人 12 月 1 日来电，\n第二行";
  await page.getByLabel("理由").fill(typed);
  await page.getByLabel("房间数").fill("2");
  const password = await house.command("users", "reset", "王芳");

  await act(page, "确认").click();
  await sendLogIn(page, "王芳", password);
  await act(page, "回到任务，恢复您输入的内容").click();
  assert.equal((await page.getByLabel("理由").inputValue()).replaceAll("\r", ""), typed);
  assert.equal(await page.getByLabel("房间数").inputValue(), "2");
  assert.equal((await house.task(task)).task_status, "PENDING_CONFIRMATION");
  await act(page, "确认").click();
  await page.getByRole("heading", { name: /已确认/ }).waitFor();
});
