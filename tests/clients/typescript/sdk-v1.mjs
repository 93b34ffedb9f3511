// The TypeScript SDK v1, which speaks 2025-11-25 and older.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { converse, options } from "./session.mjs";

const given = options();
if (given.era !== "legacy") throw new Error("the SDK v1 speaks the legacy era only");
const client = new Client({ name: "typescript-sdk-v1", version: "1" });
const transport = given.url
  ? new StreamableHTTPClientTransport(given.url, { requestInit: { headers: given.headers } })
  : new StdioClientTransport({ command: given.command, args: given.args });
// The client keeps the negotiated revision to itself but tells it to the transport.
let protocolVersion;
const tellTransport = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  protocolVersion = version;
  tellTransport?.(version);
};
await client.connect(transport);
await converse(client, protocolVersion, (params, options) => client.callTool(params, undefined, options));
