import assert from "node:assert/strict";
import { act } from "../harness/browser.mjs";
import { amendment, booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("a value that is corrected before confirming is the order's, and the history says who corrected it", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  await page.getByLabel("房间数").fill("2");
  await act(page, "确认").click();
  await page.getByRole("heading", { name: /已确认/ }).waitFor();
  await page.getByRole("listitem").filter({ hasText: "王芳" }).getByText("房间数").waitFor();
  const { order_id } = await house.task(task);
  const { fields, order } = await house.call("th_hotel_query_object_detail", { object_id: `ORDER:${order_id}` });
  assert.equal(JSON.stringify(fields ?? order ?? {}).includes("2"), true);
});

scenario("a confirmed task is started, fails, is tried again and done", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  for (const [name, status] of [["确认", "已确认"], ["开始处理", "处理中"], ["处理失败", "失败"], ["重试", "处理中"], ["完成", "已完成"]]) {
    await page.getByLabel("理由").fill("在 OPERA 中处理");
    await act(page, name).click();
    await page.getByRole("heading", { level: 1 }).getByText(status, { exact: true }).waitFor();
  }
  const moves = (await house.task(task)).history.map((step) => step.to);
  assert.deepEqual(moves.slice(1), ["CONFIRMED", "IN_PROGRESS", "FAILED", "IN_PROGRESS", "DONE"]);
});

scenario("a task goes to manual review and back, and its confirmation is undone", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  for (const [name, status] of [["转人工处理", "待人工处理"], ["转回待确认", "待确认"], ["确认", "已确认"], ["撤销确认", "待确认"]]) {
    await page.getByLabel("理由").fill("再核对一次");
    await act(page, name).click();
    await page.getByRole("heading", { level: 1 }).getByText(status, { exact: true }).waitFor();
  }
  assert.equal((await house.task(task)).task_status, "PENDING_CONFIRMATION");
});

scenario("a task is taken, found among one's own, and given to somebody else", async ({ house, browser }) => {
  const task = await propose(house, booking);
  await browser.person("李娜");
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  await act(page, "我来处理").click();
  await page.getByRole("definition").getByText("王芳").waitFor();
  await page.goto("/console/tasks");
  await page.getByLabel("我的").check();
  await act(page, "筛选").click();
  await page.getByRole("link", { name: "新建散客预订" }).click();
  await page.getByLabel("负责人").selectOption("李娜");
  await act(page, "指派").click();
  await page.getByRole("definition").getByText("李娜").waitFor();
  assert.equal((await house.task(task)).assignee ?? "李娜", "李娜");
});

scenario("informational tasks are acknowledged together", async ({ house, browser }) => {
  const tasks = [];
  for (const number of [1, 2, 3]) {
    const mail = { ...booking.mail, id: `news-${number}@agency.example`, conversation: `news-${number}` };
    tasks.push(await propose(house, { mail, event: { ...amendment.event, event_type: "INFORMATIONAL", proposed_changes: [] } }));
  }
  const page = await browser.person("王芳");
  await page.getByRole("link", { name: /仅供参考 3/ }).click();
  await page.getByRole("checkbox", { name: new RegExp(tasks[1]) }).uncheck();
  await act(page, "将勾选的任务标为已阅").click();
  await page.getByRole("status").getByText(/2/).waitFor();
  await page.getByRole("link", { name: /仅供参考 1/ }).waitFor();
  const statuses = [];
  for (const task of tasks) statuses.push((await house.task(task)).task_status);
  assert.deepEqual(statuses, ["ACKNOWLEDGED", "INFORMATIONAL", "ACKNOWLEDGED"]);
});
