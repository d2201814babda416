/**
 * `npm run calls -- COMMAND …`: what became of calls, and what is to become of them, through the operator's API of the
 * service at OUTBOUND_CALLS_URL, with the token in OUTBOUND_CALLS_OPERATOR_TOKEN.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { SingleBar } from "cli-progress";
import Table from "cli-table3";
import { callStates } from "../shared/calls/call-row.ts";
import { meaningOf } from "../shared/calls/reasons.ts";

const usage = `npm run calls -- COMMAND [OPTIONS]

  list     [--state STATE] [--request ID] [--number +12025550123]
           [--agent A] [--provider P] [--reason R] [--from TIME] [--until TIME] [--limit N]
  show     ID [--reveal]                      one call's story; with its number and context
  redial   ID… | --state STATE [as list]      [--not-placed], which calls that are NEEDS_REVIEW demand
  resolve  ID… | --state NEEDS_REVIEW [as list]   --placed | --not-placed
  cancel   ID… | --request ID | --agent A     calls that are WAITING
  pause    --agent A | --account P            keeps calls WAITING until they are resumed
  resume   --agent A | --account P | --breaker KEY
  pauses                                      what is paused, and which circuit breakers are open
  stats    [--hours N]                        calls by state and hour
  dnc      add|remove|check NUMBER… | --file F  [--renew]   the do-not-call list; a file has a number a line
  audit    [--limit N]                        the audit log: what operators did

  States: ${callStates.join(", ")}.

  --json   for scripts: a JSON value a line instead of tables

Environment: OUTBOUND_CALLS_URL, such as https://calls.example.com; OUTBOUND_CALLS_OPERATOR_TOKEN.
Exit code: 0 done; 1 wrong usage, or the service could not be reached; 2 something of it was refused.`;

/** A value of an answer: what it is, the service says. */
type Json = Record<string, unknown>;

/** What the command reaches: replaced in tests. */
export interface Terminal {
  environment: Record<string, string | undefined>;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** To stdout, a line. */
  print(line: string): void;
  /** To stderr, a line. */
  complain(line: string): void;
  /** Whether progress is shown. */
  isInteractive: boolean;
}

/** Wrong usage, or a service that does not answer as it should: exit code 1. */
class Failure extends Error {}
/** What the service refused: exit code 2. */
class Refusal extends Error {}

const options = {
  state: { type: "string" },
  request: { type: "string" },
  number: { type: "string" },
  agent: { type: "string" },
  provider: { type: "string" },
  account: { type: "string" },
  breaker: { type: "string" },
  reason: { type: "string" },
  from: { type: "string" },
  until: { type: "string" },
  limit: { type: "string" },
  hours: { type: "string" },
  file: { type: "string" },
  reveal: { type: "boolean" },
  placed: { type: "boolean" },
  "not-placed": { type: "boolean" },
  renew: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

const choosing = ["state", "request", "number", "agent", "provider", "reason", "from", "until"];
/** What each command knows of them. */
const optionsOf: Record<string, string[]> = {
  list: [...choosing, "limit"],
  show: ["reveal"],
  redial: [...choosing, "not-placed"],
  resolve: [...choosing, "placed", "not-placed"],
  cancel: ["request", "agent"],
  pause: ["agent", "account"],
  resume: ["agent", "account", "breaker"],
  stats: ["hours"],
  dnc: ["file", "renew"],
  audit: ["limit"],
};

function parse(words: string[]) {
  try {
    return parseArgs({ args: words, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "wrong usage", { cause: error });
  }
}
type Values = ReturnType<typeof parse>["values"];

/** Runs one command; answers with its exit code. */
export async function run(words: string[], terminal: Terminal): Promise<number> {
  try {
    const { values, positionals } = parse(words);
    const [command = "", ...rest] = positionals;
    if (values.help === true || command === "") {
      terminal.print(usage);
      return command === "" && values.help !== true ? 1 : 0;
    }
    const perform = Object.hasOwn(commands, command) ? commands[command] : undefined;
    if (perform === undefined) throw new Failure(`There is no command ${command}.\n\n${usage}`);
    const known = new Set(["json", ...(optionsOf[command] ?? [])]);
    const strange = Object.keys(values).find((name) => !known.has(name));
    if (strange !== undefined) throw new Failure(`${command} has no option --${strange}.`);
    return await perform(rest, values, createClient(terminal), terminal);
  } catch (error) {
    if (!(error instanceof Failure || error instanceof Refusal)) throw error;
    terminal.complain(error.message);
    return error instanceof Refusal ? 2 : 1;
  }
}

/** Asks the operator's API. */
function createClient({ environment, fetch }: Terminal) {
  const { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_OPERATOR_TOKEN: token } = environment;
  if (!url || !URL.canParse(url)) throw new Failure("OUTBOUND_CALLS_URL is not set to a URL.");
  if (!token) throw new Failure("OUTBOUND_CALLS_OPERATOR_TOKEN is not set.");
  return async (path: string, body?: object): Promise<Json> => {
    const request = {
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    };
    const address = `${url.replace(/\/+$/, "")}/operator${path}`;
    let response: Response;
    let text: string;
    try {
      response = await fetch(address, request);
      text = await response.text();
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const why = cause instanceof Error ? cause.message : "no answer";
      throw new Failure(`${url} cannot be reached: ${why}`, { cause: error });
    }
    const answer = jsonIn(text);
    if (response.ok && answer !== undefined) return answer;
    const errors = listIn(answer, "errors").map(
      (error) => `\n  ${textOf(error["pointer"])} ${textOf(error["detail"])}`,
    );
    const detail = textOf(answer?.["detail"]);
    const message = `${response.status} ${detail}${errors.join("")}`.trim();
    const isRefused = response.status === 404 || response.status === 409 || response.status === 422;
    if (isRefused && answer !== undefined) throw new Refusal(message);
    throw new Failure(message);
  };
}
type Client = ReturnType<typeof createClient>;

const commands: Record<
  string,
  (rest: string[], values: Values, ask: Client, terminal: Terminal) => Promise<number>
> = {
  async list(_rest, values, ask, terminal) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const calls: Json[] = [];
    for await (const call of callsOf(values, ask, terminal, Math.min(limit, pageCallsMax))) {
      calls.push(call);
      if (calls.length >= limit) break;
    }
    show(calls, callColumns, values, terminal);
    return 0;
  },

  async show([id], values, ask, terminal) {
    if (id === undefined) throw new Failure("show needs a call's id.");
    const { history, ...call } = await ask(`/calls/${encodeURIComponent(id)}`);
    const revealed =
      values.reveal === true ? await ask(`/calls/${encodeURIComponent(id)}/reveal`, {}) : {};
    const meaning = meaningOf(textOf(call["reason"])) ?? null;
    const whole = { ...call, ...revealed, meaning };
    if (values.json === true) {
      terminal.print(JSON.stringify({ ...whole, history }));
      return 0;
    }
    const table = new Table();
    for (const [name, value] of Object.entries(whole)) {
      if (value !== null) table.push({ [name]: textOf(value) });
    }
    terminal.print(table.toString());
    show(listIn({ history }, "history"), storyColumns, values, terminal);
    return 0;
  },

  redial: (ids, values, ask, terminal) => {
    const body = { not_placed: values["not-placed"] === true };
    return forEach(ids, values, ask, terminal, (id) => ask(`/calls/${id}/redial`, body));
  },

  resolve(ids, values, ask, terminal) {
    const { placed = false, "not-placed": not = false } = values;
    if (placed === not) throw new Failure("resolve needs either --placed or --not-placed.");
    const body = { outcome: placed ? "placed" : "not_placed" };
    return forEach(ids, values, ask, terminal, (id) => ask(`/calls/${id}/resolve`, body));
  },

  async cancel(ids, values, ask, terminal) {
    if (ids.length > 0) {
      if (Object.keys(values).some((name) => name !== "json")) {
        throw new Failure("cancel takes either ids, or --request or --agent.");
      }
      return forEach(ids, values, ask, terminal, (id) => ask(`/calls/${id}/cancel`, {}));
    }
    const what = chosen(
      { request_id: values.request, agent_id: values.agent },
      "--request or --agent",
    );
    let cancelled = 0;
    let cursor: unknown;
    do {
      const answer = await ask("/cancel", { ...what, ...(cursor === undefined ? {} : { cursor }) });
      cancelled += Number(answer["cancelled"]);
      cursor = answer["cursor"];
    } while (cursor !== undefined);
    say(
      `${cancelled} waiting calls cancelled; what is still on the queue will be.`,
      { cancelled },
      values,
      terminal,
    );
    return 0;
  },

  async pause(_rest, values, ask, terminal) {
    const { agent: agent_id, account } = values;
    const answer = await ask("/pause", chosen({ agent_id, account }, "--agent or --account"));
    say(`Paused: ${nameOf(answer)}.`, answer, values, terminal);
    return 0;
  },

  async resume(_rest, values, ask, terminal) {
    const { agent: agent_id, account, breaker } = values;
    const what = chosen({ agent_id, account, breaker }, "--agent, --account or --breaker");
    const answer = await ask("/resume", what);
    say(`Resumed: ${nameOf(answer)}.`, answer, values, terminal);
    return 0;
  },

  async pauses(_rest, values, ask, terminal) {
    const answer = await ask("/pauses");
    const all = [
      ...listIn(answer, "pauses").map((pause) => ({
        what: nameOf(pause),
        why: `paused by ${textOf(pause["by"])}`,
        since: pause["at"],
        probe_at: null,
      })),
      ...listIn(answer, "breakers").map(({ key, code, opened_at, probe_at }) => ({
        what: `breaker ${textOf(key)}`,
        why: `answers ${textOf(code)}`,
        since: opened_at,
        probe_at,
      })),
    ];
    show(all, ["what", "why", "since", "probe_at"], values, terminal);
    return 0;
  },

  async stats(_rest, values, ask, terminal) {
    const hours = numberOf(values.hours ?? "24", "--hours");
    const answer = await ask(`/counts?hours=${hours}`);
    const counts = listIn(answer, "counts");
    if (values.json === true) {
      terminal.print(JSON.stringify(answer));
      return 0;
    }
    const byHour = new Map<string, Json>();
    for (const { hour, state, count } of counts) {
      const row = byHour.get(textOf(hour)) ?? { hour };
      byHour.set(textOf(hour), { ...row, [textOf(state)]: count });
    }
    const used = callStates.filter((state) => counts.some((one) => one["state"] === state));
    show([...byHour.values()], ["hour", ...used], values, terminal);
    const standing = Object.entries(objectIn(answer, "standing")).map(([state, count]) => ({
      state,
      now: count === answer["standing_most"] ? `${textOf(count)} or more` : count,
    }));
    show(standing, ["state", "now"], values, terminal);
    terminal.print(`Last full sweep: ${textOf(answer["swept_at"]) || "none yet"}.`);
    return 0;
  },

  async dnc([verb, ...numbers], values, ask, terminal) {
    const listed = values.file === undefined ? [] : await numbersIn(values.file);
    const all = [...numbers, ...listed];
    if (all.length === 0) throw new Failure("dnc needs numbers, or --file.");
    if (verb === "check") {
      const answers: Json[] = [];
      for (const phone_number of all) {
        answers.push({ phone_number, ...(await ask("/do-not-call/check", { phone_number })) });
      }
      show(answers, ["phone_number", "listed"], values, terminal);
      return 0;
    }
    if (verb !== "add" && verb !== "remove")
      throw new Failure("dnc is followed by add, remove or check.");
    const bar = barOf(all.length, values, terminal);
    for (let start = 0; start < all.length; start += numbersMax) {
      const some = all.slice(start, start + numbersMax);
      const isLast = start + numbersMax >= all.length;
      const renew = values.renew === true && isLast ? { renew: true } : {};
      await ask("/do-not-call", { [verb]: some, ...renew, ...(isLast ? {} : { more: true }) });
      bar.update(start + some.length);
    }
    bar.stop();
    say(`${all.length} numbers: ${verb} done.`, { [verb]: all.length }, values, terminal);
    return 0;
  },

  async audit(_rest, values, ask, terminal) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const entries = listIn(await ask(`/audit?limit=${Math.min(limit, 200)}`), "entries");
    show(entries, ["at", "by", "act", "target", "count"], values, terminal);
    return 0;
  },
};

/** Numbers of one request. */
const numbersMax = 10_000;
const callColumns = [
  "id",
  "state",
  "reason",
  "agent_id",
  "provider",
  "number_tail",
  "attempt",
  "due_at",
  "updated_at",
];
const storyColumns = ["at", "state", "reason", "due_at", "by"];

/** Most calls of one answer. */
const pageCallsMax = 200;

/** The calls that a list's options choose, page after page. */
async function* callsOf(
  values: Values,
  ask: Client,
  { complain }: Terminal,
  pageCalls = pageCallsMax,
): AsyncGenerator<Json> {
  const { state, request, number, agent, provider, reason, from, until } = values;
  const filters = { state, request_id: request, agent_id: agent, provider, reason, from, until };
  const given = Object.entries(filters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  let cursor: string | undefined;
  do {
    const place: [string, string][] = cursor === undefined ? [] : [["cursor", cursor]];
    const query = new URLSearchParams([...given, ...place, ["limit", String(pageCalls)]]);
    const page =
      number === undefined
        ? await ask(`/calls?${query.toString()}`)
        : await ask("/calls/search", { phone_number: number, ...Object.fromEntries(query) });
    const unreadable = page["unreadable"];
    if (unreadable !== undefined) {
      complain(`${textOf(unreadable)} calls left out: a later version of the service wrote them.`);
    }
    yield* listIn(page, "calls");
    cursor = page["cursor"] === undefined ? undefined : textOf(page["cursor"]);
  } while (cursor !== undefined);
}

/** Does something to each of many calls, those named or those that the options choose; tells which were refused. */
async function forEach(
  ids: string[],
  values: Values,
  ask: Client,
  terminal: Terminal,
  perform: (id: string) => Promise<Json>,
): Promise<number> {
  const chosenIds = [...ids];
  if (ids.length === 0) {
    if (values.state === undefined && values.request === undefined) {
      // The list of all calls is long, and few of them are meant.
      throw new Failure("Name calls by their ids, or choose them by --state or --request.");
    }
    // All of them first: what is done to a call takes it out of the list that is being read.
    for await (const call of callsOf(values, ask, terminal)) chosenIds.push(textOf(call["id"]));
  }
  const bar = barOf(chosenIds.length, values, terminal);
  const refused: string[] = [];
  let done = 0;
  let failure: Failure | undefined;
  for (const id of chosenIds) {
    try {
      const answer = await perform(encodeURIComponent(id));
      if (values.json === true) terminal.print(JSON.stringify(answer));
      done++;
    } catch (error) {
      if (error instanceof Refusal) refused.push(`${id}: ${error.message}`);
      else if (error instanceof Failure) failure = new Failure(`${id}: ${error.message}`);
      else throw error;
    }
    bar.update(done + refused.length);
    if (failure !== undefined) break; // the service is unwell: what is left is left as it is
  }
  bar.stop();
  for (const line of refused) terminal.complain(line);
  if (values.json !== true) terminal.print(`${done} done, ${refused.length} refused.`);
  if (failure !== undefined) throw failure;
  return refused.length > 0 ? 2 : 0;
}

/** What of an answer is paused or resumed: `agent agent_sales`. */
function nameOf({ agent_id, account, breaker }: Json): string {
  if (agent_id !== undefined) return `agent ${textOf(agent_id)}`;
  return account === undefined ? `breaker ${textOf(breaker)}` : `account ${textOf(account)}`;
}

/** Exactly one of several options. */
function chosen(what: Record<string, string | undefined>, names: string): Record<string, string> {
  const given = Object.entries(what).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  if (given.length !== 1) throw new Failure(`Give one of ${names}.`);
  return Object.fromEntries(given);
}

function barOf(total: number, { json }: Values, { isInteractive }: Terminal) {
  if (!isInteractive || json === true || total < 2)
    return { update: () => undefined, stop: () => undefined };
  const bar = new SingleBar({ format: "{bar} {value}/{total}", stream: process.stderr });
  bar.start(total, 0);
  return { update: (value: number) => bar.update(value), stop: () => bar.stop() };
}

function show(rows: Json[], columns: string[], { json }: Values, { print }: Terminal): void {
  if (json === true) {
    for (const row of rows) print(JSON.stringify(row));
    return;
  }
  if (rows.length === 0) {
    print("None.");
    return;
  }
  const table = new Table({ head: columns, style: { head: [], border: [] } });
  for (const row of rows) table.push(columns.map((column) => textOf(row[column])));
  print(table.toString());
}

function say(line: string, answer: Json, { json }: Values, { print }: Terminal): void {
  print(json === true ? JSON.stringify(answer) : line);
}

async function numbersIn(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new Failure(`${file} cannot be read.`);
  });
  return text.split(/\s+/).filter((word) => word !== "");
}

function numberOf(text: string, name: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Failure(`${name} must be a number from 1 on.`);
  return Number(text);
}

function jsonIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectIn(answer: Json, name: string): Json {
  const value = answer[name];
  return isObject(value) ? value : {};
}

function listIn(answer: Json | undefined, name: string): Json[] {
  const value = answer?.[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await run(process.argv.slice(2), {
    environment: process.env,
    fetch,
    print: (line) => console.log(line),
    complain: (line) => console.error(line),
    isInteractive: process.stderr.isTTY,
  });
}
