import assert from "node:assert/strict";
import { logIn } from "../harness/browser.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("a person logs in, is led to where they wanted to go, and logs out", async ({ house, browser }) => {
  const password = await house.person("王芳", "clerk");
  const page = await browser.visitor();
  await page.goto("/console/inbox");
  await page.getByLabel("用户名").fill("王芳");
  await page.getByLabel("密码").fill("不对的密码");
  await page.getByRole("button", { name: "登录" }).click();
  await page.getByRole("alert").getByText("用户名或密码不正确。").waitFor();
  await logIn(page, "王芳", password);
  assert.equal(new URL(page.url()).pathname, "/console/inbox");
  await page.getByRole("button", { name: "退出" }).click();
  await page.getByRole("heading", { name: "登录酒店控制台" }).waitFor();
  await page.goBack();
  await page.reload();
  await page.getByRole("heading", { name: "登录酒店控制台" }).waitFor();
});

scenario("no cookie of the console can be read by a script", async ({ browser }) => {
  const page = await browser.person("王芳");
  assert.equal(await page.evaluate(() => document.cookie), "");
});
