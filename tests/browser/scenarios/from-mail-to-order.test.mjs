import assert from "node:assert/strict";
import { act } from "../harness/browser.mjs";
import { booking } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("a mail becomes a task, and the confirmed task an order", async ({ house, browser }) => {
  const page = await browser.person("王芳");
  await page.getByText("没有符合条件的任务。").waitFor();
  await house.mail(booking.mail);
  const [task] = await house.propose(booking.mail.id, booking.event);

  await page.getByRole("link", { name: "收件箱", exact: true }).click();
  await page.getByRole("link", { name: booking.mail.subject }).click();
  await page.getByText("豪华双床房 1 间").waitFor();
  await page.getByRole("link", { name: "新建散客预订" }).click();
  assert.equal(await page.getByLabel("入住").inputValue(), "2047-01-15");
  assert.equal(await page.locator("mark").textContent(), "入住：2047年1月15日");
  await act(page, "确认").click();

  await page.getByRole("heading", { name: /新建散客预订.*已确认/ }).waitFor();
  const confirmed = await house.task(task);
  assert.deepEqual(confirmed.history.map((step) => [step.to, step.actor]).at(-1), ["CONFIRMED", "王芳"]);

  await page.goto(`/console/orders/${confirmed.order_id}`);
  const history = page.getByRole("listitem").filter({ hasText: "王芳" });
  await history.getByRole("link", { name: new RegExp(`新建散客预订 #${task}`) }).waitFor();
  await history.getByRole("link", { name: booking.mail.subject }).click();
  await page.getByText("豪华双床房 1 间").waitFor();
});
