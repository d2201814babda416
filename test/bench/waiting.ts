/**
 * Measures dispatchers beside more and more waiting calls of 200 clients and agents on D1. What a dispatcher hands out
 * takes its permits and counts as placed before the next look.
 */
import { packedHex } from "../support/packed-hex.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import { toPace } from "#shared/telephony/rate.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { type CountedCloudflare, startCloudflare } from "./counted-cloudflare.ts";
import { fillD1By, timeDigits } from "./filled-ledger.ts";
import { inWords } from "./growth-counts.ts";
import { summary } from "./measure.ts";
import { createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import { createService, requestOf } from "./service.ts";
import { forgetSweeps } from "./shapes.ts";
import { paceKeyOf } from "#shared/rules/pace.ts";

const sizes = [40_000, 200_000, 1_000_000];
const clients = 200;
const accounts = 20;
const callsPerSecond = 1;
const minutes = 5;
const startAt = Date.parse("2026-06-01T12:00:00Z");
/** Queries of a dispatcher may differ by this share between the sizes, and are at most this many a minute. */
const growthMax = 1.1;
const queriesMax = 700;

const backlogs = Array.from({ length: clients }, (_, n) => ({
  client: `client_${n}`,
  agentId: `agent_${n}`,
}));
const plan = {
  agents: Object.fromEntries(
    backlogs.map(({ agentId }, n) => [
      agentId,
      { provider: `account-${n % accounts}`, url: `http://127.0.0.1:${n % accounts}/dial` },
    ]),
  ),
  providers: Object.fromEntries(
    Array.from({ length: accounts }, (_, n) => [
      `account-${n}`,
      { type: "webhook", callsPerSecond },
    ]),
  ),
};

/** Half of the rows are due; the others wait for their hours. */
const fill = `
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2),
made(i, at, of) AS (SELECT i, CAST(?3 AS INTEGER) - 3600000 - i, json_extract(?4, '$[' || (CAST(i AS INTEGER) % ${clients}) || ']') FROM n)
INSERT INTO calls (id, version, number_hash, state, lane, due_at, accepted_at, row, context)
SELECT 'call_' || ${timeDigits} || printf('%016d', i) || '_00000', printf('%020x', i),
  unhex(printf('%08x%064x', (i * 2246822519) & 4294967295, i)), 'WAITING', of->>'backlog',
  at + iif(CAST(i AS INTEGER) / ${clients} % 2 = 0, 0, 36000000), at, unhex(of->>'row'), unhex(?5)
FROM made`;

/** Makes all backlogs known, as if each had just been written to and answered quickly. */
async function makeKnown(platform: CountedCloudflare, now: number): Promise<void> {
  await forgetSweeps(platform);
  for (const one of backlogs) {
    const value = { ...one, mode: "live" as const, usedAt: now, answers: "quick" as const };
    const key = { kind: "backlog" as const, key: backlogOf(one) };
    const current = (await platform.documents.read([key])).get("backlog", key.key);
    const next = { ...key, value, expiresAt: null, version: randomVersion() };
    await platform.documents.write([{ next, seen: current?.version ?? null }]);
  }
}

/** Takes what was handed out as placed, with its permits. Returns the number of calls. */
async function place(platform: CountedCloudflare): Promise<number> {
  const byAccount = new Map<string, string[]>();
  for (const delivered of platform.deliver(platform.waiting())) {
    const message = messageSchema.parse(JSON.parse(await delivered.open()));
    if (message.kind !== "dispatch") continue;
    for (const { id, account } of message.rows) {
      byAccount.set(account, [...(byAccount.get(account) ?? []), id]);
    }
  }
  const now = platform.clock.now();
  for (const [account, ids] of byAccount) {
    const pace = toPace(callsPerSecond, 1);
    const window = { notBefore: now, notAfter: now + 60_000 };
    await platform.documents.takePermits(paceKeyOf(account), pace, {
      ...window,
      count: ids.length,
    });
    await platform.database
      .prepare(
        "UPDATE calls SET state = 'PLACED', lane = NULL, due_at = NULL WHERE id IN (SELECT value FROM json_each(?1))",
      )
      .bind(JSON.stringify(ids))
      .run();
  }
  return [...byAccount.values()].flat().length;
}

interface Minute {
  queries: number;
  read: number;
  written: number;
  ms: number;
  dispatched: number;
}

/** Runs the dispatchers of some minutes, in computed time. */
async function dispatchFor(platform: CountedCloudflare, meter: Meter): Promise<Minute[]> {
  const { clock } = platform;
  let dispatched = 0;
  let placingMs = 0;
  const service = createService(platform, meter, {
    plan,
    async wait(ms) {
      const begunAt = performance.now();
      dispatched += await meter.at("place", () => place(platform));
      placingMs += performance.now() - begunAt;
      clock.set(clock.now() + Math.max(0, ms));
    },
  });
  const found: Minute[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    meter.take();
    [dispatched, placingMs] = [0, 0];
    const begunAt = performance.now();
    await service.dispatch(60_000);
    const ms = performance.now() - begunAt - placingMs;
    const stages = meter.take();
    stages.delete("place");
    const { d1Queries = 0, d1RowsRead = 0, d1RowsWritten = 0 } = sumOf(stages.values());
    found.push({ queries: d1Queries, read: d1RowsRead, written: d1RowsWritten, ms, dispatched });
    clock.set(clock.now() + 10_000); // until the next one starts
  }
  return found;
}

const { context = {}, ...request } = requestOf(0);
const places = JSON.stringify(
  backlogs.map((one) => ({
    backlog: backlogOf(one),
    row: packedHex({ ...one, reason: "turn", updatedAt: startAt, request, numberTail: "23" }),
  })),
);
const meter = createMeter();
const platform = await startCloudflare(meter);
const found: { size: number; found: Minute[] }[] = [];
try {
  let filled = 0;
  for (const [index, size] of sizes.entries()) {
    // An hour later each time: all backlogs are read anew.
    const from = startAt + index * 3_600_000;
    await fillD1By(platform, filled, size, fill, [startAt, places, packedHex(context)]);
    filled = size;
    platform.clock.set(from);
    await makeKnown(platform, from);
    found.push({ size, found: await dispatchFor(platform, meter) });
  }
} finally {
  await platform.stop();
}

const of = (all: Minute[], what: keyof Minute) => summary(all.map((one) => one[what]));
const inRange = ({ median, low, high }: ReturnType<typeof summary>) =>
  `${Math.round(median)} (${Math.round(low)}–${Math.round(high)})`;
const columns = ["queries", "read", "written", "ms", "dispatched"] as const;
const [least, most] = [found[0], found.at(-1)];
if (least === undefined || most === undefined) throw new Error("nothing was measured");
const targets = (["queries", "read"] as const).map((what): Target => {
  const [few, many] = [of(least.found, what).median, of(most.found, what).median];
  return {
    what: `a dispatcher's ${what === "read" ? "rows read" : "queries"} a minute, ${inWords(most.size)} against ${inWords(least.size)} waiting calls of ${clients} clients`,
    target: `≤ ${growthMax} ×`,
    measured: `${(many / few).toFixed(2)} × (${Math.round(few)} → ${Math.round(many)})`,
    met: many <= growthMax * few,
  };
});
const queriesAtMost = Math.max(...found.flatMap((one) => one.found.map(({ queries }) => queries)));
targets.push({
  what: `a dispatcher's queries of D1, ${clients} backlogs of ${accounts} accounts`,
  target: `≤ ${queriesMax}`,
  measured: String(queriesAtMost),
  met: queriesAtMost <= queriesMax,
});
report({
  title: "A dispatcher beside many waiting calls",
  text: [
    `The dispatchers of ${minutes} minutes on D1 in workerd: ${clients} clients with an agent each, at ${accounts} accounts of ${callsPerSecond} call a second. Half of the calls are due, the others wait for their hours. What is handed out takes its permits and counts as placed before the next look. Figures are by the minute: medians, and the range in brackets:`,
    table(
      ["waiting calls", "queries", "rows read", "rows written", "ms", "handed out"],
      found.map(({ size, found: all }) => [
        inWords(size),
        ...columns.map((what) => inRange(of(all, what))),
      ]),
    ),
  ].join("\n\n"),
  targets,
});
