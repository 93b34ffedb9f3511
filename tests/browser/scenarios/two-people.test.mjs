import assert from "node:assert/strict";
import { act } from "../harness/browser.mjs";
import { booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("of two people on one card the second sees who did what and loses nothing typed", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const first = await browser.person("王芳");
  const second = await browser.person("李娜");
  for (const page of [first, second]) await page.goto(`/console/tasks/${task}`);
  await second.getByLabel("房间数").fill("3");
  await second.getByLabel("理由").fill("客人来电确认 <b>两次</b>");

  await first.getByLabel("理由").fill("与昨天的邮件重复");
  await act(first, "退回").click();
  await first.getByRole("heading", { name: /已退回/ }).waitFor();

  await act(second, "确认").click();
  await second.getByRole("alert").getByText(/任务已被他人更改/).waitFor();
  const steps = second.getByRole("status").filter({ hasText: "王芳" });
  await steps.getByText("与昨天的邮件重复").waitFor();
  await second.getByText("客人来电确认 <b>两次</b>").waitFor();
  await second.getByText(/您输入的\s*房间数：3/).waitFor();
  assert.equal((await house.task(task)).task_status, "REJECTED");
});
