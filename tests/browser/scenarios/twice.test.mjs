import assert from "node:assert/strict";
import { act } from "../harness/browser.mjs";
import { amendment, booking, cancellation, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("a double click decides once", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  await act(page, "确认").dblclick();
  await page.getByRole("heading", { name: /已确认/ }).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal((await house.task(task)).history.length, 2);
});

scenario("back to a card that was decided shows it as decided", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.getByRole("link", { name: "新建散客预订" }).click();
  await page.getByLabel("理由").fill("重复");
  await act(page, "退回").click();
  await page.getByRole("heading", { name: /已退回/ }).waitFor();
  await page.getByRole("link", { name: "任务", exact: true }).click();
  await page.getByText("没有符合条件的任务。").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: /已退回/ }).waitFor();
  assert.equal(await act(page, "确认").count(), 0);
  assert.equal((await house.task(task)).history.length, 2);
});

scenario("a task whose order was cancelled meanwhile cannot be confirmed", async ({ house, browser }) => {
  const first = await propose(house, booking);
  await house.command("tasks", "confirm", first, "--as", "王芳");
  const change = await propose(house, amendment);
  const page = await browser.person("李娜");
  await page.goto(`/console/tasks/${change}`);
  await page.getByLabel("理由").fill("客人来电");
  const cancel = await propose(house, cancellation);
  await house.command("tasks", "confirm", cancel, "--as", "王芳", "--reason", "客人来电取消");

  await act(page, "确认").click();
  await page.getByRole("alert").waitFor();
  await page.getByText("阻止确认").first().waitFor();
  assert.equal(await act(page, "确认").count(), 0);
  await page.getByText("客人来电", { exact: true }).waitFor();
  assert.equal((await house.task(change)).task_status, "PENDING_CONFIRMATION");
});
