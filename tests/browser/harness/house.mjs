// A hotel of its own for each scenario: data folder, server on a free port, and what operators and agents do there.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createWriteStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { startingAt } from "./clock.mjs";
import { multiply } from "./multiply.mjs";
import { program } from "./settings.mjs";

const run = promisify(execFile);
/** How long a command or the start of the server may take, in milliseconds. */
const LIMIT = 60_000;

export class House {
  #server;
  #token;
  /** Of what is started from now on. */
  environment = process.env;

  /** Opens a hotel on SQLite, or on the database with the URL `db`. */
  static async open({ db, environment = process.env } = {}) {
    const house = new House();
    house.environment = environment;
    house.folder = await mkdtemp(join(tmpdir(), "countersign-browser-"));
    house.db = db ?? `sqlite:${join(house.folder, "hotel.sqlite")}`;
    await writeFile(join(house.folder, "countersign.toml"), `[hotel]\ndb = '${house.db}'\n`);
    if (db) await house.command("migrate");
    await house.command("hotels", "add", "--name", "湖畔酒店", "--active");
    const scopes = ["read", "submit", "ingest"].flatMap((scope) => ["--scope", scope]);
    house.#token = await house.command("tokens", "add", "--name", "agent", ...scopes);
    await house.serve();
    return house;
  }

  /** Another server on the same data. */
  async secondNode() {
    const node = new House();
    Object.assign(node, { folder: this.folder, db: this.db, borrowed: true });
    node.#token = this.#token;
    await node.serve();
    return node;
  }

  /** Starts the server; `url` is then where it is. */
  async serve() {
    const words = ["hotel", "serve", "--listen", "127.0.0.1:0", "--config", join(this.folder, "countersign.toml")];
    // The server ends with this process, however that ends.
    const server = spawn("setpriv", ["--pdeathsig", "INT", program, ...words], {
      cwd: this.folder, env: this.environment, stdio: ["ignore", "ignore", "pipe"],
    });
    this.#server = server;
    const log = createWriteStream(join(this.folder, "server.log"), { flags: "a" });
    this.url = await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("the server was not ready in time")), LIMIT);
      server.once("exit", (code) => reject(new Error(`the server ended with ${code} before it was ready`)));
      createInterface({ input: server.stderr }).on("line", (line) => {
        log.write(`${line}\n`);
        const listening = /listening on (http:\S+)\/mcp/.exec(line);
        if (listening) {
          clearTimeout(late);
          resolve(listening[1]);
        }
      });
    });
  }

  /** Starts the server anew, as if it were this minute of UTC+8; what is started later believes the same. */
  async serveAt(minute) {
    await this.stop();
    this.environment = startingAt(minute);
    await this.serve();
  }

  /** Runs `countersign hotel WORDS` on this data; returns what it prints. */
  async command(...words) {
    const all = ["hotel", ...words, "--config", join(this.folder, "countersign.toml")];
    return (await run(program, all, { cwd: this.folder, env: this.environment, timeout: LIMIT, maxBuffer: 64 << 20 })).stdout.trim();
  }

  /** Makes the hotel large before anybody opens a page, for the server moves; see multiply.mjs. */
  async multiply(mails, tasks) {
    await this.stop();
    multiply(this.db.replace("sqlite:", ""), mails, tasks);
    await this.serve();
  }

  /** Adds a person of the console; returns the password. */
  person(name, role) {
    return this.command("users", "add", "--name", name, "--role", role);
  }

  /** Takes a mail in as AgentBus brings it; returns the number of its page. */
  async mail({ id, conversation = null, ...mail }) {
    const source = {
      provider: "AGENTBUS", channel: "EMAIL", external_message_id: id, external_conversation_id: conversation,
    };
    const message = { source, received_at: "2026-11-30T09:00:00+08:00", to: ["预订部 <desk@lakeside.example>"], ...mail };
    return (await this.#post("/api/integrations/agentbus/messages", message)).data.inbox_id;
  }

  /** Takes in a mail as it goes over the wire. */
  async rawMail(raw) {
    const file = join(this.folder, "message.eml");
    await writeFile(file, raw);
    await this.command("ingest", file);
  }

  /** Submits over MCP what an agent reads in a mail; returns the task of each event. */
  async propose(id, ...events) {
    const source_message = {
      source_message_id: id, subject: null, from: null, cc: [], received_at: null, source_channel: "Email",
    };
    const message_events = events.map((event, index) => ({ source_event_index: String(index + 1), ...event }));
    const submission = { source_message, message_events, case_candidates: [], unhandled_current_intents: [] };
    const { items } = await this.call("th_hotel_submit_task_results", submission);
    const refused = items.find((item) => item.error);
    if (refused) throw new Error(`an event was refused: ${JSON.stringify(refused)}`);
    return items.map((item) => item.task_id);
  }

  /** Calls a tool over MCP, as agents do; returns its data. */
  async call(name, given) {
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } };
    const answer = await this.#post("/mcp", request);
    const { data } = answer.result?.structuredContent ?? {};
    if (!data) throw new Error(`${name} failed: ${JSON.stringify(answer)}`);
    return data;
  }

  /** The task as the command line shows it. */
  async task(id) {
    return JSON.parse(await this.command("tasks", "show", id, "--json"));
  }

  /** What the server has logged. */
  log() {
    return readFile(join(this.folder, "server.log"), "utf8").catch(() => "");
  }

  /** Ends the server; the data stays. */
  async stop() {
    const server = this.#server;
    if (server && server.exitCode === null) {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGINT");
      await ended;
    }
  }

  async close() {
    await this.stop();
    if (!this.borrowed) await rm(this.folder, { recursive: true, force: true });
  }

  async #post(path, body) {
    const headers = { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" };
    const response = await fetch(this.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }
}
