/**
 * Measures the sweeps of ten minutes beside more and more waiting calls of 200 clients and agents on D1. The calls that a
 * sweep calls up are taken as placed before the next one.
 */
import { backlogOf } from "../../shared/calls/call-row.ts";
import { messageSchema } from "../../shared/queue/messages.ts";
import { randomVersion } from "../../shared/platform/random-id.ts";
import { type CountedCloudflare, startCloudflare } from "./counted-cloudflare.ts";
import { fillD1By, timeDigits } from "./filled-ledger.ts";
import { inWords } from "./growth-counts.ts";
import { summary } from "./measure.ts";
import { createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import { createService, requestOf } from "./service.ts";
import { forgetSweeps } from "./shapes.ts";

const sizes = [40_000, 200_000, 1_000_000];
const clients = 200;
const accounts = 20;
const callsPerSecond = 1;
const minutes = 10;
const startAt = Date.parse("2026-06-01T12:00:00Z");
/** Queries of a sweep may differ by this share between the sizes. */
const growthMax = 1.1;

const backlogs = Array.from({ length: clients }, (_, n) => ({
  client: `client_${n}`,
  agentId: `agent_${n}`,
}));
const plan = {
  agents: Object.fromEntries(
    backlogs.map(({ agentId }, n) => [
      agentId,
      { provider: `account-${n % accounts}`, url: "http://127.0.0.1:9/dial" },
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
INSERT INTO calls (id, version, number_hash, row)
SELECT 'call_' || ${timeDigits} || printf('%016d', i) || '_00000', printf('%020x', i),
  printf('%08x%056x', (i * 2246822519) & 4294967295, i), json_object(
  'state', 'WAITING', 'reason', 'pace', 'client', of->>'client', 'agentId', of->>'agentId', 'attempt', 0,
  'backlog', of->>'backlog', 'dueAt', at + iif(CAST(i AS INTEGER) / ${clients} % 2 = 0, 0, 36000000),
  'claims', json_array(), 'claimedAt', NULL, 'acceptedAt', at, 'updatedAt', at, 'request', json(?5), 'route', NULL,
  'providerCallId', NULL, 'numberTail', '23', 'history', json('[]'))
FROM made`;
/** Makes all backlogs known, as if each had just been written to. */
async function makeKnown(platform: CountedCloudflare, now: number): Promise<void> {
  await forgetSweeps(platform);
  for (const one of backlogs) {
    const value = { ...one, usedAt: now, nextDueAt: now, visitedAt: now, marks: [] };
    const key = { kind: "backlog" as const, key: backlogOf(one) };
    const standing = (await platform.documents.read([key])).get("backlog", key.key);
    const next = { ...key, value, expiresAt: null, version: randomVersion() };
    await platform.documents.write([{ next, seen: standing?.version ?? null }]);
  }
}

interface Minute {
  queries: number;
  read: number;
  written: number;
  ms: number;
  calledUp: number;
}

async function sweepOneMinute(
  platform: CountedCloudflare,
  service: ReturnType<typeof createService>,
  meter: Meter,
): Promise<Minute> {
  meter.take();
  const startedAt = performance.now();
  await service.sweep();
  const ms = performance.now() - startedAt;
  const { d1Queries = 0, d1RowsRead = 0, d1RowsWritten = 0 } = sumOf(meter.take().values());
  const ids: string[] = [];
  for (const delivered of platform.deliver(platform.waiting())) {
    const message = messageSchema.parse(JSON.parse(await delivered.open()));
    if (message.kind === "due") ids.push(...message.ids);
  }
  await platform.database
    .prepare(
      "UPDATE calls SET row = json_set(row, '$.state', 'PLACED', '$.backlog', NULL, '$.dueAt', NULL) WHERE id IN (SELECT value FROM json_each(?1))",
    )
    .bind(JSON.stringify(ids))
    .run();
  return { queries: d1Queries, read: d1RowsRead, written: d1RowsWritten, ms, calledUp: ids.length };
}

const places = JSON.stringify(backlogs.map((one) => ({ ...one, backlog: backlogOf(one) })));
const request = JSON.stringify(requestOf(0));
const meter = createMeter();
const platform = await startCloudflare(meter);
const found: { size: number; sweeps: Minute[] }[] = [];
try {
  let filled = 0;
  for (const [index, size] of sizes.entries()) {
    // An hour later each time: what the last sweeps have called up no longer counts.
    const from = startAt + index * 3_600_000;
    await fillD1By(platform, filled, size, fill, [startAt, places, request]);
    filled = size;
    await makeKnown(platform, from);
    const service = createService(platform, meter, { plan });
    const sweeps: Minute[] = [];
    for (let minute = 0; minute < minutes; minute++) {
      platform.clock.set(from + minute * 60_000);
      sweeps.push(await sweepOneMinute(platform, service, meter));
    }
    found.push({ size, sweeps });
  }
} finally {
  await platform.stop();
}

const of = (sweeps: Minute[], what: keyof Minute) => summary(sweeps.map((one) => one[what]));
const inRange = ({ median, low, high }: ReturnType<typeof summary>) =>
  `${Math.round(median)} (${Math.round(low)}–${Math.round(high)})`;
const columns = ["queries", "read", "written", "ms", "calledUp"] as const;
const [least, most] = [found[0], found.at(-1)];
if (least === undefined || most === undefined) throw new Error("nothing was measured");
const targets = (["queries", "read"] as const).map((what): Target => {
  const [few, many] = [of(least.sweeps, what).median, of(most.sweeps, what).median];
  return {
    what: `a sweep's ${what === "read" ? "rows read" : "queries"}, ${inWords(most.size)} against ${inWords(least.size)} waiting calls of ${clients} clients`,
    target: `≤ ${growthMax} ×`,
    measured: `${(many / few).toFixed(2)} × (${Math.round(few)} → ${Math.round(many)})`,
    met: many <= growthMax * few,
  };
});
report({
  title: "Sweeps beside many waiting calls",
  text: [
    `The sweeps of ${minutes} minutes on D1 in workerd: ${clients} clients with an agent each, at ${accounts} accounts of ${callsPerSecond} call a second. Half of the calls are due, the others wait for their hours. What a sweep calls up is taken as placed before the next one. Medians, and the range in brackets:`,
    table(
      ["waiting calls", "queries", "rows read", "rows written", "ms", "called up"],
      found.map(({ size, sweeps }) => [
        inWords(size),
        ...columns.map((what) => inRange(of(sweeps, what))),
      ]),
    ),
  ].join("\n\n"),
  targets,
});
