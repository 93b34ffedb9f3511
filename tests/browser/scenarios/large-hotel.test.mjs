import assert from "node:assert/strict";
import { amendment, booking, propose } from "../harness/mails.mjs";
import { scenario } from "../harness/scenario.mjs";

const [MAILS, TASKS] = [50_000, 10_000];
/** Most milliseconds from a request to the whole page, over loopback, in the build without optimisation. */
const LIMIT_MS = 200;
const ROUNDS = 20;
/** Another scenario has the other core, and what else the machine does is not what is measured: then once more. */
const MOST_SERIES = 3;

scenario("with 10,000 tasks and 50,000 mails pages answer within 200 ms", async ({ house, browser }) => {
  const first = await propose(house, booking);
  await house.command("tasks", "confirm", first, "--as", "王芳");
  await propose(house, amendment);
  await house.multiply(MAILS, TASKS);
  const page = await browser.person("王芳");
  await page.getByRole("link", { name: /待确认 \d{4}/ }).waitFor();

  const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const slow = [];
  for (const path of ["/console/tasks", "/console/tasks?mine=1&today=1", "/console/tasks?status=DONE", "/console/inbox"]) {
    let best = Infinity;
    for (let series = 0; series < MOST_SERIES && best > LIMIT_MS; series += 1) {
      best = Math.min(best, await median(house.url + path, cookie));
    }
    console.log(`${path}: median ${best.toFixed(0)} ms`);
    if (best > LIMIT_MS) slow.push(`${path}: ${best.toFixed(0)} ms`);
  }
  assert.deepEqual(slow, []);
});

/** The median of how long the page takes, in milliseconds. */
async function median(url, cookie) {
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    const response = await fetch(url, { headers: { Cookie: cookie } });
    await response.text();
    times.push(performance.now() - start);
    assert.equal(response.status, 200);
  }
  return times.sort((a, b) => a - b)[ROUNDS / 2];
}
