import { waitingQuery } from "../../infra/cli/deploy/stranded-calls.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Ran, Tools } from "../../infra/cli/deploy/tools.ts";
import * as z from "../../shared/lib/zod.ts";

interface FakeQueue {
  retentionSeconds: number;
  isPaused: boolean;
  /** Names of Workers, or `http_pull`. */
  consumers: string[];
}

interface FakeRule {
  prefix: string;
  days: string;
}

/** An account on Cloudflare, as wrangler 4.155.0 shows and changes it. */
export interface FakeAccount {
  loggedIn: boolean;
  hasR2: boolean;
  isPaid: boolean;
  mayListQueues: boolean;
  failsMigration: boolean;
  ledgerIsUsed: boolean;
  /** Backlogs of the ledger that have waiting calls. */
  waiting: { client: string; agentId: string }[];
  queues: Map<string, FakeQueue>;
  /** Names of the keys that the do-not-call list names. Undefined: there is no list. */
  keyNames: string[] | undefined;
  databases: Set<string>;
  /** Content of each database, by its name. */
  ledgers: Map<string, DatabaseSync>;
  /** Lifecycle rules by bucket, whose name is followed by its jurisdiction, if any. */
  buckets: Map<string, Map<string, FakeRule>>;
  migrated: Set<string>;
  /** Secrets by Worker. A Worker that is here is there. */
  secrets: Map<string, Map<string, string>>;
  /** Settings with which Workers were deployed, in order. */
  deployed: string[];
}

export const createFakeAccount = (): FakeAccount => ({
  loggedIn: true,
  hasR2: true,
  isPaid: true,
  mayListQueues: true,
  failsMigration: false,
  ledgerIsUsed: false,
  waiting: [],
  keyNames: undefined,
  queues: new Map(),
  databases: new Set(),
  ledgers: new Map(),
  buckets: new Map(),
  migrated: new Set(),
  secrets: new Map(),
  deployed: [],
});

/** An end of the process in the middle of its work. */
export class Killed extends Error {}

const readers = [
  "whoami",
  "auth token",
  "d1 list",
  "d1 execute",
  "r2 bucket lifecycle list",
  "secret list",
];
const ok = (stdout: string): Ran => ({ code: 0, stdout, stderr: "" });
const failed = (text: string): Ran => ({ code: 1, stdout: "", stderr: `✘ [ERROR] ${text}` });
const refusedBy = (path: string, message: string, code: number) =>
  failed(`A request to the Cloudflare API (${path}) failed.\n\n  ${message} [code: ${code}]`);

/** Surroundings of the deploy command, over an account in memory. */
export interface FakeTools extends Tools {
  /** Words of each command, and what it was given on stdin. */
  ran: { words: string; input: string | undefined }[];
  /** Words of the commands that change something. */
  changes(): string[];
  printed: string[];
  /** Statuses that the service answers. */
  answers: { health: number; withoutToken: number };
  /** Number of changing commands after which the process is killed, before or after the last one has worked. */
  killedAt: { changes: number; isDone: boolean } | undefined;
}

/**
 * Creates surroundings whose wrangler keeps an account in memory. Its wording is that of the handlers in
 * wrangler-dist/cli.js: authTokenCommand, d1ListCommand, r2BucketLifecycleListCommand, secretListCommand,
 * secretBulkCommand, d1MigrationsApplyCommand, whoami and throwFetchError; the codes 10006, 10042 and 10007 are those
 * that it compares with, or that its issues quote.
 */
export function createFakeTools(account: FakeAccount): FakeTools {
  const tools: FakeTools = {
    environment: { WEBHOOK_SECRET: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3" },
    ran: [],
    printed: [],
    answers: { health: 200, withoutToken: 401 },
    killedAt: undefined,
    changes: () => tools.ran.map(({ words }) => words).filter((words) => !isReading(words)),
    run(command, args, { input } = {}) {
      const words = args.join(" ");
      tools.ran.push({ words, input });
      if (command !== "wrangler") throw new Error(`no command ${command}`);
      const { killedAt } = tools;
      const isLast = !isReading(words) && tools.changes().length === killedAt?.changes;
      if (isLast && !killedAt?.isDone) return Promise.reject(new Killed());
      const answer = answerOf(account, args, input);
      return isLast ? Promise.reject(new Killed()) : Promise.resolve(answer);
    },
    fetch(asked, init) {
      const { url, headers } = new Request(asked, init);
      const isApi = url.startsWith("https://api.cloudflare.com/");
      if (isApi) return Promise.resolve(apiAnswer(account, new URL(url), headers));
      const { health, withoutToken } = tools.answers;
      const status = url.endsWith("/healthz") ? health : withoutToken;
      return Promise.resolve(new Response(null, { status }));
    },
    print: (line) => void tools.printed.push(line),
    ask: () => Promise.resolve(undefined),
    askSecret: () => Promise.resolve(undefined),
  };
  return tools;
}

const isReading = (words: string) =>
  readers.some((reader) => words.startsWith(reader)) || words.includes("--dry-run");

const apiToken = "token-of-wrangler";

/** Answers `GET /accounts/ID/queues?name=…`, whose fields are those of Cloudflare's API. */
function apiAnswer(account: FakeAccount, { pathname, searchParams }: URL, headers: Headers) {
  const answer = (status: number, result: unknown, errors: unknown[] = []) =>
    Response.json({ success: status === 200, errors, result }, { status });
  if (headers.get("authorization") !== `Bearer ${apiToken}` || !account.mayListQueues)
    return answer(403, null, [{ code: 10000, message: "Authentication error" }]);
  if (pathname !== "/client/v4/accounts/a1/queues") return answer(404, null);
  const name = searchParams.get("name") ?? "";
  const found = [...account.queues].filter(([one]) => one.startsWith(name));
  return answer(
    200,
    found.map(([queue_name, { retentionSeconds, isPaused, consumers }]) => ({
      queue_name,
      settings: {
        delivery_delay: 0,
        delivery_paused: isPaused,
        message_retention_period: retentionSeconds,
      },
      consumers: consumers.map((script) =>
        script === "http_pull" ? { type: script } : { type: "worker", script },
      ),
    })),
  );
}

function answerOf(account: FakeAccount, args: readonly string[], input = ""): Ran {
  const words = args.join(" ");
  const option = (name: string) => args[args.indexOf(name) + 1] ?? "";
  if (words === "whoami --json") {
    return account.loggedIn
      ? ok(JSON.stringify({ loggedIn: true, accounts: [{ id: "a1", name: "Ada" }] }, null, 2))
      : { ...failed(""), stdout: '{\n  "loggedIn": false\n}' };
  }
  if (words === "auth token --json") return ok(JSON.stringify({ type: "oauth", token: apiToken }));
  const [kind = "", verb = ""] = args;
  if (kind === "queues")
    return queuesAnswer(account, args, option("--message-retention-period-secs"));
  if (kind === "d1") return d1Answer(account, args);
  if (kind === "r2")
    return r2Answer(account, args, args.includes("--jurisdiction") ? option("--jurisdiction") : "");
  if (kind === "secret") return secretAnswer(account, verb, option("--name"), input);
  if (kind === "deploy") return deployAnswer(account, args, option("--config"));
  if (kind === "delete") {
    const consumers = [...account.queues.values()].flatMap((queue) => queue.consumers);
    if (consumers.includes(option("--name"))) {
      const why = "Cannot delete this Worker as it is a consumer for a Queue.";
      return refusedBy("/workers/services", why, 10064);
    }
    const isThere = account.secrets.delete(option("--name"));
    return isThere
      ? ok(`Successfully deleted ${option("--name")}`)
      : refusedBy("/workers/services", "This Worker does not exist on your account.", 10007);
  }
  throw new Error(`no command ${words}`);
}

function queuesAnswer(account: FakeAccount, args: readonly string[], retention: string): Ran {
  const [, verb, name = "", third = "", worker = ""] = args;
  if (verb === "create") {
    if (!account.isPaid) return failed("The specified queue settings are invalid.");
    if (account.queues.has(name)) return refusedBy("/queues", "Queue name already taken", 11009);
    account.queues.set(name, {
      retentionSeconds: Number(retention),
      isPaused: false,
      consumers: [],
    });
    return ok(`🌀 Creating queue '${name}'\n✅ Created queue '${name}'`);
  }
  const queue = verb === "consumer" ? third : name;
  const current = account.queues.get(queue);
  if (current === undefined) {
    return failed(
      `Queue "${queue}" does not exist. To create it, run: wrangler queues create ${queue}`,
    );
  }
  if (verb === "update") current.retentionSeconds = Number(retention);
  if (verb === "delete") account.queues.delete(queue);
  if (verb === "consumer") current.consumers = current.consumers.filter((one) => one !== worker);
  return ok(`Queue Name: ${queue}`);
}

function d1Answer(account: FakeAccount, args: readonly string[]): Ran {
  const [, verb, name = ""] = args;
  if (verb === "list") {
    return ok(JSON.stringify([...account.databases].map((one) => ({ uuid: "u", name: one }))));
  }
  if (verb === "create") {
    if (account.databases.has(name)) return failed("A database with that name already exists");
    account.databases.add(name);
    account.ledgers.set(name, new DatabaseSync(":memory:"));
    return ok(`✅ Successfully created DB '${name}'`);
  }
  if (verb === "execute" && args.includes(waitingQuery)) {
    return account.migrated.size === 0
      ? failed("no such table: documents: SQLITE_ERROR")
      : ok(JSON.stringify([{ results: account.waiting, success: true }]));
  }
  if (verb === "execute" && args.at(-1)?.includes("do-not-call-list") === true) {
    const { keyNames } = account;
    const results = keyNames === undefined ? [] : [{ value: JSON.stringify({ keys: keyNames }) }];
    return ok(JSON.stringify([{ results, success: true }]));
  }
  if (verb === "execute") {
    const ledger = account.ledgers.get(name);
    if (ledger === undefined) return failed(`Couldn't find DB with name '${name}'`);
    if (account.ledgerIsUsed) {
      ledger.exec("INSERT OR IGNORE INTO documents VALUES ('do-not-call', 'h', 'v', NULL, '{}')");
    }
    const results = (args.at(-1) ?? "").split("; ").map((sql) => ledger.prepare(sql).all());
    return ok(JSON.stringify(results.map((one) => ({ results: one, success: true, meta: {} }))));
  }
  if (account.failsMigration) {
    return failed(
      "Migration 0001_ledger.sql failed with the following errors:\nnear: syntax error",
    );
  }
  const config = args.at(-1) ?? "";
  account.migrated.add(config);
  return migrate(
    account.ledgers.get(/^dist\/deploy\/(.+)\//.exec(config)?.[1] ?? "outbound-calls"),
  );
}

/** Applies the migrations that `d1_migrations` does not name, as wrangler does. */
function migrate(ledger: DatabaseSync | undefined): Ran {
  if (ledger === undefined) return failed("Couldn't find a D1 DB with the binding 'LEDGER'");
  ledger.exec("CREATE TABLE IF NOT EXISTS d1_migrations (name TEXT UNIQUE)");
  const applied = ledger.prepare("SELECT name FROM d1_migrations").all();
  const folder = "infra/d1";
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  for (const name of names.toSorted()) {
    if (applied.some((one) => one["name"] === name)) continue;
    ledger.exec(readFileSync(join(folder, name), "utf8"));
    ledger.prepare("INSERT INTO d1_migrations VALUES (?)").run(name);
  }
  return ok("✅ No migrations to apply!");
}

function r2Answer(account: FakeAccount, args: readonly string[], jurisdiction: string): Ran {
  if (!account.hasR2) {
    return refusedBy("/r2/buckets", "Please enable R2 through the Cloudflare Dashboard.", 10042);
  }
  const [, , verb, third = "", fourth = "", rule = "", prefix = ""] = args;
  const option = (name: string) => args[args.indexOf(name) + 1] ?? "";
  const key = (name: string) => [name, jurisdiction].join(" ").trim();
  if (verb === "create") {
    if (account.buckets.has(key(third))) return refusedBy("/r2/buckets", "already exists", 10004);
    account.buckets.set(key(third), new Map());
    return ok(`✅ Created bucket '${third}' with default storage class of Standard.`);
  }
  const rules = account.buckets.get(key(fourth));
  if (rules === undefined) {
    return refusedBy("/r2/buckets", "The specified bucket does not exist.", 10006);
  }
  if (third === "add") {
    if (rules.has(rule)) return failed("a lifecycle rule of this name is there already");
    rules.set(rule, { prefix, days: option("--expire-days") });
    return ok(`✨ Added lifecycle rule '${rule}' to bucket '${fourth}'.`);
  }
  if (third === "remove") {
    rules.delete(option("--name"));
    return ok(`Lifecycle rule '${option("--name")}' removed from bucket '${fourth}'.`);
  }
  const listed = [...rules].map(
    ([name, one]) =>
      `name:     ${name}\nenabled:  Yes\nprefix:   ${one.prefix || "(all prefixes)"}\n` +
      `action:   Expire objects after ${one.days} days`,
  );
  return ok(
    rules.size === 0
      ? `There are no lifecycle rules for bucket '${fourth}'.`
      : `Listing lifecycle rules for bucket '${fourth}'...\n${listed.join("\n\n")}`,
  );
}

const valuesSchema = z.record(z.string(), z.nullable(z.string()));

function secretAnswer(account: FakeAccount, verb: string, worker: string, input: string): Ran {
  const secrets = account.secrets.get(worker);
  if (verb === "list") {
    return secrets === undefined
      ? failed(`Worker "${worker}" not found.\n\nIf this is a new Worker, run \`wrangler deploy\``)
      : ok(JSON.stringify([...secrets.keys()].map((name) => ({ name, type: "secret_text" }))));
  }
  const next = new Map(secrets);
  for (const [name, value] of Object.entries(valuesSchema.parse(JSON.parse(input)))) {
    if (value === null) next.delete(name);
    else next.set(name, value);
  }
  account.secrets.set(worker, next);
  return ok("Finished processing secrets file:");
}

function deployAnswer(account: FakeAccount, args: readonly string[], config: string): Ran {
  if (args.includes("--dry-run")) return ok("--dry-run: exiting now.");
  account.deployed.push(config);
  const isApi = !/dialer/.test(config);
  const base = /dist\/deploy\/([^/]+)\//.exec(config)?.[1] ?? "outbound-calls";
  for (const [name, queue] of account.queues) {
    const isOfApi = name.endsWith("-dead");
    const isOwn = [base, `${base}-dead`, `${base}-events`, `${base}-events-dead`].includes(name);
    if (isOwn && isOfApi === isApi) queue.consumers = [`${base}-${isApi ? "api" : "dialer"}`];
  }
  return ok(isApi ? "Deployed\n  https://outbound-calls-api.ada.workers.dev\n" : "Deployed\n");
}
