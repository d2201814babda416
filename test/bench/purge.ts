/**
 * Measures how long a signed opt-out takes until its number is on the do-not-call list, beside a purge of many expired
 * documents: the Workers, the queue and D1 of `npm start`, whose database deletes meanwhile. `DOCUMENTS=200000`: fewer.
 */
import { createServer } from "node:http";
import type { DatabaseSync } from "node:sqlite";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { createSignatureHeaders, parseSigningKey } from "#shared/lib/standard-webhooks.ts";
import { createToken } from "#shared/settings/tokens.ts";
import { openLocalD1 } from "../support/local-d1.ts";
import { cloudflare } from "../support/platforms.ts";
import { freePort, makeStateDirectory, startService, until } from "../support/service.ts";
import { report, table } from "./report.ts";

const documents = Number(process.env["DOCUMENTS"] ?? 2_000_000);
const [optOutsAlone, optOutsMax] = [20, 200];
const promisedMs = 5_000;
const everyMs = 500;
const documentsAtOnce = 100_000;
const hashKey = "5f".repeat(32);
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** The webhook, which takes each call and notes where its end is to be posted. */
const callbacks: { id: string; url: string; numberHash: string }[] = [];
const webhook = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { id, phone_number, callback_url: url } = JSON.parse(Buffer.concat(chunks).toString());
    callbacks.push({ id, url, ...hashNumber(phone_number, hashKey) });
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ id }));
  });
});
const webhookPort = await freePort();
await new Promise<void>((listening) => webhook.listen(webhookPort, "127.0.0.1", listening));

const token = createToken();
const environment = {
  PORT: String(await freePort()),
  WEBHOOK_SECRET: secret,
  HASH_KEY: hashKey,
  EVENTS_KEY: "e7".repeat(32),
  API_TOKENS: JSON.stringify([{ id: "bench", sha256: token.sha256 }]),
  DIAL_PLAN: JSON.stringify({
    agents: { "*": { provider: "webhook", url: `http://127.0.0.1:${webhookPort}/dial` } },
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
    results: {},
  }),
};
const state = await makeStateDirectory();
let service = await startService(cloudflare, environment, state.path);
const numberOf = (n: number) => `+1202555${String(1_000 + n)}`;
const calls = Array.from({ length: optOutsAlone + optOutsMax }, (_, n) => ({
  phone_number: numberOf(n),
  agent_id: "agent",
  timezone: "UTC",
}));
await fetch(`${service.address}/v1/calls/batch`, {
  method: "POST",
  headers: { authorization: `Bearer ${token.token}`, "content-type": "application/json" },
  body: JSON.stringify(calls),
});
await until(() => callbacks.length === calls.length);
let ledger = await openLocalD1(state.path);
const placed = ledger.prepare("SELECT count(*) AS n FROM calls WHERE state = 'PLACED'");
await until(() => Number(placed.get()?.["n"]) === calls.length);

/** Posts one signed opt-out, and resolves to the time until its number is listed. */
async function optOut(): Promise<number> {
  const { id, url, numberHash } = callbacks.pop() ?? { id: "", url: "", numberHash: "" };
  const body = JSON.stringify({ status: "completed", seconds: 5, opt_out: true });
  const keys = [parseSigningKey(secret, "the secret")];
  const headers = createSignatureHeaders({ id, body }, { keys, now: Date.now() });
  const begunAt = performance.now();
  const answer = await fetch(url, { method: "POST", headers, body });
  if (answer.status !== 204) throw new Error(`a callback was answered ${answer.status}`);
  const entry = ledger.prepare("SELECT 1 FROM documents WHERE kind = 'do-not-call' AND key = ?");
  await until(() => entry.get(numberHash) !== undefined, { everyMs: 10 });
  return performance.now() - begunAt;
}
const rest = () => new Promise((next) => setTimeout(next, everyMs));

/** Posts opt-outs, one after the other by the clock whatever becomes of those before. */
async function optOutWhile(holds: (count: number) => boolean): Promise<number[]> {
  const all: Promise<number>[] = [];
  while (holds(all.length) && callbacks.length > 0) {
    all.push(optOut());
    await rest();
  }
  return Promise.all(all);
}

const alone = await optOutWhile((count) => count < optOutsAlone);

ledger.close();
await service.end("SIGTERM");
ledger = await openLocalD1(state.path);
fill(ledger);
ledger.close();
service = await startService(cloudflare, environment, state.path);
ledger = await openLocalD1(state.path);
const begunAt = performance.now();
const looked = ledger.prepare(
  "SELECT value->>'$.purge' AS at FROM documents WHERE kind = 'upkeep'",
);
const left = ledger.prepare("SELECT 1 FROM documents WHERE kind = 'idempotency-old' LIMIT 1");
const isPurging = () => looked.get()?.["at"] !== null || left.get() !== undefined;
const beside = await optOutWhile(isPurging);
await until(() => !isPurging(), { hangMs: 20 * 60_000, everyMs: 500 });
const purgedSeconds = (performance.now() - begunAt) / 1000;
ledger.close();
await service.end("SIGTERM");
await state.remove();
webhook.close();

/** Puts expired documents into a database that nobody uses, and has the next upkeep begin a purge. */
function fill(database: DatabaseSync): void {
  const insert = database.prepare(`
    WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    INSERT INTO documents (kind, key, version, expires_at, value)
    SELECT 'idempotency-old', printf('client %09d', i), printf('%020x', i), 1, json_object('hash', printf('%0128d', i)) FROM n`);
  for (let start = 0; start < documents; start += documentsAtOnce) {
    insert.run(start, Math.min(start + documentsAtOnce, documents));
  }
  database.exec(
    "UPDATE documents SET value = json_set(value, '$.purgeBeganAt', 0) WHERE kind = 'upkeep'",
  );
}

const sorted = (all: readonly number[]) => all.toSorted((one, other) => one - other);
const at = (all: readonly number[], part: number) =>
  sorted(all)[Math.min(all.length - 1, Math.floor(all.length * part))] ?? Number.NaN;
const ms = (value: number) => Math.round(value).toLocaleString("en-US");
const rowOf = (what: string, all: readonly number[]) => [
  what,
  String(all.length),
  ...[0.5, 0.95, 1].map((part) => ms(at(all, part))),
];
report({
  title: "An opt-out beside a purge",
  text: [
    `Milliseconds from posting a signed opt-out to its number being on the list, through the API, the queue and the dialer of \`npm start\`. A purge deletes ${documents.toLocaleString("en-US")} expired documents from the same D1 meanwhile, which took ${Math.round(purgedSeconds)} s.`,
    table(
      ["", "opt-outs", "p50", "p95", "most"],
      [rowOf("nothing is purged", alone), rowOf("beside the purge", beside)],
    ),
  ].join("\n\n"),
  targets: [
    {
      what: "the latest opt-out beside a purge",
      target: `≤ ${ms(promisedMs)} ms`,
      measured: `${ms(at(beside, 1))} ms`,
      met: at(beside, 1) <= promisedMs,
    },
  ],
});
