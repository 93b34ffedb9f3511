// The TypeScript SDK v2, which speaks both eras.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { converse, options } from "./session.mjs";

const given = options();
const mode = given.era === "modern" ? { pin: "2026-07-28" } : "legacy";
const client = new Client({ name: "typescript-sdk-v2", version: "1" }, { versionNegotiation: { mode } });
const transport = given.url
  ? new StreamableHTTPClientTransport(given.url, { requestInit: { headers: given.headers } })
  : new StdioClientTransport({ command: given.command, args: given.args });
await client.connect(transport);
const revision = client.getNegotiatedProtocolVersion();
await converse(client, revision, (params, options) => client.callTool(params, options));
