"""The official Python SDK as a client that the tests steer line by line.

usage: client.py --era legacy|modern (--url URL [--token TOKEN] | --stdio COMMAND [ARGUMENT ...])

The first line on stdout says what was negotiated: {"protocolVersion", "tools"}. Then every line on
stdin, {"tool", "arguments", "progress"}, is answered by one line on stdout: the tool result, or {"error": {code,
message, data}} for a JSON-RPC error. The SDK itself checks each result against the tool's output schema and raises
where it does not fit. With progress "collect", the reports of progress are in the result as "progress"; with
"cancel", the call is cancelled at the first of them and the answer is {"cancelled": true}. The end of stdin closes
the connection.
"""

import argparse
import json
import sys

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

# "auto" asks server/discover first; a pinned revision would skip that. The tests check what came of it.
MODES = {"legacy": "legacy", "modern": "auto"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=MODES, required=True)
    parser.add_argument("--url")
    parser.add_argument("--token")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER)
    return parser.parse_args()


def answer(value: dict) -> None:
    print(json.dumps(value), flush=True)


async def call_tool(client: Client, call: dict) -> dict:
    reports = []
    with anyio.CancelScope() as scope:

        async def reported(progress: float, total: float | None, message: str | None) -> None:
            reports.append({"progress": progress, "total": total, "message": message})
            if call["progress"] == "cancel":
                scope.cancel()

        on_progress = reported if call["progress"] else None
        result = await client.call_tool(call["tool"], call["arguments"], progress_callback=on_progress)
        answered = result.model_dump(by_alias=True, exclude_unset=True)
        return answered | {"progress": reports} if call["progress"] else answered
    return {"cancelled": True}


async def converse(server, era: str) -> None:
    async with Client(server, mode=MODES[era], read_timeout_seconds=30) as client:
        tools = (await client.list_tools()).tools
        answer({
            "protocolVersion": client.protocol_version,
            "tools": [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools],
        })
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            call = json.loads(line)
            try:
                answer(await call_tool(client, call))
            except MCPError as error:
                answer({"error": error.error.model_dump(exclude_none=True)})


async def main() -> None:
    given = arguments()
    if given.stdio:
        command, *rest = given.stdio
        await converse(StdioServerParameters(command=command, args=rest), given.era)
        return
    headers = {"Authorization": f"Bearer {given.token}"} if given.token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        await converse(streamable_http_client(given.url, http_client=http), given.era)


anyio.run(main)
