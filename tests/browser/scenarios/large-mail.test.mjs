import assert from "node:assert/strict";
import { booking } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

const MEGABYTE = 1 << 20;

scenario("a mail of 2 MB is listed, shown in part, and shown in full on a page of its own", async ({ house, browser }) => {
  const line = "入住 2047-01-15 离店 2047-01-17 豪华双床房\r\n";
  const text = line.repeat(Math.floor((2 * MEGABYTE) / Buffer.byteLength(line)));
  await house.rawMail(
    `From: a@agency.example\r\nMessage-ID: <large@agency.example>\r\nSubject: =?utf-8?B?${Buffer.from("很长的邮件").toString("base64")}?=\r\n` +
      `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${text}最后一行\r\n`,
  );
  await house.propose("large@agency.example", { ...booking.event, evidence: [{ source_message_id: null, quote: "入住 2047-01-15" }] });
  const page = await browser.person("王芳");
  await page.getByRole("link", { name: "新建散客预订" }).click();
  assert.equal(await page.locator("mark").first().textContent(), "入住 2047-01-15");
  await page.goto("/console/inbox");
  await page.getByRole("link", { name: "很长的邮件" }).click();
  await page.getByRole("link", { name: "查看全文" }).click();
  await page.getByRole("link", { name: "返回往来邮件" }).waitFor();
  await page.getByText("最后一行").waitFor();
});

scenario("a mail of 2 MB of HTML is shown in its frame or as text, and the page answers", async ({ house, browser }) => {
  const html = "<p>入住 2047-01-15</p>".repeat(Math.floor((2 * MEGABYTE) / 24));
  await house.rawMail(
    `From: a@agency.example\r\nMessage-ID: <html@agency.example>\r\nSubject: large\r\n` +
      `Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${html}\r\n`,
  );
  const page = await browser.person("王芳");
  await page.goto("/console/inbox");
  await page.getByRole("link", { name: "large" }).click();
  await page.getByRole("heading", { name: "large" }).waitFor();
});

scenario("a mail with 300 files names each of them and stays as wide as the page", async ({ house, browser }) => {
  const attachments = Array.from({ length: 300 }, (_, number) => ({ name: `分房名单 ${number}.xlsx`, size: 1024 * number, type: "x/y" }));
  const id = await house.mail({ ...booking.mail, attachments });
  const page = await browser.person("王芳");
  await page.goto(`/console/messages/${id}`);
  const files = page.getByRole("list", { name: "附件" });
  await files.getByText("分房名单 299.xlsx").waitFor();
  assert.equal(await files.getByRole("listitem").count(), 300);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
});
