import assert from "node:assert/strict";
import { act } from "../harness/browser.mjs";
import { booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("an admin finds who confirmed a task in the trail, and a clerk is kept out of it", async ({ house, browser }) => {
  const task = await propose(house, booking);
  const clerk = await browser.person("李娜");
  await clerk.goto(`/console/tasks/${task}`);
  await act(clerk, "确认").click();
  await clerk.getByRole("heading", { name: /已确认/ }).waitFor();
  assert.equal((await clerk.goto("/console/audit")).status(), 403);

  const admin = await browser.person("王芳", "admin");
  await admin.getByRole("link", { name: "审计", exact: true }).click();
  await admin.getByLabel("操作者").fill("李娜");
  await admin.getByLabel("对象").fill(`task:${task}`);
  await act(admin, "筛选").click();
  await admin.getByRole("link", { name: /decide|confirm|act/ }).first().click();
  await admin.getByRole("heading", { name: /审计记录/ }).waitFor();
  await admin.getByText("李娜").first().waitFor();
});
