import { amendment, booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

scenario("a word finds mails, orders and tasks from any page", async ({ house, browser }) => {
  const first = await propose(house, booking);
  await house.command("tasks", "confirm", first, "--as", "王芳");
  await propose(house, amendment);
  const page = await browser.person("王芳");
  await page.getByRole("searchbox").fill("王建国");
  await page.getByRole("searchbox").press("Enter");
  const found = page.getByRole("main");
  await found.getByRole("link", { name: new RegExp(amendment.mail.subject) }).waitFor();
  await found.getByText("王建国", { exact: true }).first().waitFor();
  await page.getByRole("searchbox").fill("没有这个人");
  await page.getByRole("searchbox").press("Enter");
  await found.getByRole("link", { name: new RegExp(amendment.mail.subject) }).waitFor({ state: "detached" });
});
