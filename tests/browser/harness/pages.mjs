// Every kind of page of the console, for what must hold on all of them.

import { amendment, booking, propose } from "./mails.mjs";

/** More kinds of pages than the console has; links that lead on and on end here. */
const MOST_PAGES = 100;

/** A house with something on every page. */
export async function furnish(house) {
  const first = await propose(house, booking);
  await house.command("tasks", "confirm", first, "--as", "李娜");
  await propose(house, amendment);
  await house.mail({
    id: "rooms@jiangnan.example",
    conversation: "booking-1",
    subject: "回复：房型说明",
    from: "江南国旅 陈洁 <chenjie@jiangnan.example>",
    html_body: "<h1>房型</h1><table><tr><th>房型</th><th>间数</th></tr><tr><td>豪华双床房</td><td>2</td></tr></table>",
    attachments: [{ name: "分房名单.xlsx", size: 18231, type: "application/vnd.ms-excel" }],
  });
}

/** One path for each kind of page that links lead to, whoever is logged in: the paths differ in more than numbers. */
export async function everyPage(page) {
  const kinds = new Map();
  const waiting = ["/console/tasks", "/console/search?q=2047"];
  while (waiting.length > 0 && kinds.size < MOST_PAGES) {
    const path = waiting.shift();
    const kind = path.replace(/[?#].*/, "").replaceAll(/\/\d+/g, "/{id}");
    if (kinds.has(kind)) continue;
    const response = await page.request.get(path);
    if (response.status() !== 200 || !response.headers()["content-type"]?.startsWith("text/html")) continue;
    kinds.set(kind, path);
    const links = (await response.text()).matchAll(/href="(\/console\/[^"#]+)"/g);
    for (const [, link] of links) waiting.push(link.replaceAll("&amp;", "&"));
  }
  return [...kinds.values()];
}
