import assert from "node:assert/strict";
import { act, logIn } from "../harness/browser.mjs";
import { amendment, booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("what comes in appears on the open board and in the open inbox", async ({ house, browser }) => {
  const page = await browser.person("王芳");
  const inbox = await browser.person("李娜");
  await inbox.goto("/console/inbox");
  await house.mail(booking.mail);
  await inbox.getByRole("link", { name: booking.mail.subject }).waitFor();
  await house.propose(booking.mail.id, booking.event);
  await page.getByRole("link", { name: "新建散客预订" }).waitFor();
  await inbox.getByText("1 项待办").waitFor();
  assert.equal(await page.getByRole("link", { name: /待确认 1/ }).count(), 1);
});

scenario("a decision of another browser and one of the command line leave the open board", async ({ house, browser }) => {
  const first = await propose(house, booking);
  const page = await browser.person("王芳");
  const other = await browser.person("李娜");
  await page.getByRole("link", { name: "新建散客预订" }).waitFor();
  await other.goto(`/console/tasks/${first}`);
  await act(other, "确认").click();
  await page.getByText("没有符合条件的任务。").waitFor();
  const second = await propose(house, amendment);
  await page.getByRole("link", { name: "修改散客预订" }).waitFor();
  await house.command("tasks", "reject", second, "--as", "赵经理", "--reason", "重复");
  await page.getByText("没有符合条件的任务。").waitFor();
});

scenario("who is typing is told that the task has changed, and what they typed goes with them", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  await page.getByLabel("理由").fill("客人来电");
  await house.command("tasks", "reject", task, "--as", "赵经理", "--reason", "与昨天的邮件重复");
  const news = page.locator("[data-news]");
  await news.getByText("与昨天的邮件重复").waitFor();
  await news.getByText("赵经理").waitFor();
  assert.equal(await page.getByLabel("理由").inputValue(), "客人来电");
  await news.getByRole("link").click();
  await page.getByRole("heading", { name: /已退回/ }).waitFor();
});

scenario("an open page says when the session has ended, and what was typed is there after the log-in", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const page = await browser.person("王芳");
  await page.goto(`/console/tasks/${task}`);
  await page.getByLabel("理由").fill("客人来电");
  const password = await house.command("users", "reset", "王芳");
  await page.getByRole("link", { name: "重新登录" }).click({ timeout: 40_000 });
  await logIn(page, "王芳", password);
  assert.equal(await page.getByLabel("理由").inputValue(), "客人来电");
});

scenario("keys move along the board, open a task, and decide at the second press", async ({ house, browser }) => {
  const task = await propose(house, booking);
  await propose(house, { mail: { ...booking.mail, id: "other@agency.example", conversation: "other" }, event: { ...booking.event, event_type: "COMPLAINT" } });
  const page = await browser.person("王芳");
  await page.getByRole("link", { name: "新建散客预订" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.getByRole("heading", { name: "收件箱" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.getByRole("heading", { name: "任务", exact: true }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByLabel("理由").waitFor();
  await page.getByLabel("理由").focus();
  await page.keyboard.type("c x ?");
  assert.equal(await page.getByLabel("理由").inputValue(), "c x ?", "keys are letters while somebody types");
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  assert.equal((await house.task(task)).task_status, "PENDING_CONFIRMATION", "one stray key decides nothing");
  await page.keyboard.press("c");
  await page.getByRole("heading", { name: /已确认/ }).waitFor();
});
