// What the two TypeScript clients share: their command line, and the conversation that the tests steer line by
// line (client.py beside this folder describes it). Usage of both:
//   node sdk-v1.mjs|sdk-v2.mjs --era legacy|modern (--url URL [--token TOKEN] | --stdio COMMAND [ARGUMENT ...])

import { createInterface } from "node:readline";

/** Reads the command line: { era, url, headers } or { era, command, args }. */
export function options() {
  const given = process.argv.slice(2);
  const stdio = given.indexOf("--stdio");
  const flags = stdio < 0 ? given : given.slice(0, stdio);
  const valueOf = (flag) => (flags.includes(flag) ? flags[flags.indexOf(flag) + 1] : undefined);
  const era = valueOf("--era");
  if (stdio >= 0) {
    const [command, ...args] = given.slice(stdio + 1);
    return { era, command, args };
  }
  const token = valueOf("--token");
  return { era, url: new URL(valueOf("--url")), headers: token ? { Authorization: `Bearer ${token}` } : {} };
}

/**
 * Says what was negotiated, then answers one line with the result of one tool call until stdin ends. `callTool` takes
 * the params and the SDK's options.
 */
export async function converse(client, protocolVersion, callTool) {
  const { tools } = await client.listTools();
  answer({ protocolVersion, tools });
  for await (const line of createInterface({ input: process.stdin })) {
    const { tool, arguments: given, progress } = JSON.parse(line);
    const reports = [];
    const cancellation = new AbortController();
    const onprogress = (report) => {
      reports.push(report);
      if (progress === "cancel") cancellation.abort();
    };
    try {
      const options = { signal: cancellation.signal, onprogress: progress ? onprogress : undefined };
      const result = await callTool({ name: tool, arguments: given }, options);
      answer(progress ? { ...result, progress: reports } : result);
    } catch (error) {
      if (cancellation.signal.aborted) {
        answer({ cancelled: true });
        continue;
      }
      // Errors of the SDK's own, such as a result outside the output schema, have no JSON-RPC code.
      if (!Number.isInteger(error.code)) throw error;
      answer({ error: { code: error.code, message: error.message, data: error.data } });
    }
  }
  await client.close();
}

function answer(value) {
  process.stdout.write(JSON.stringify(value) + "\n");
}
