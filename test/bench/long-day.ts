/**
 * Simulates a day of 500,000 calls on D1's adapter over SQLite: ten accounts with paces, numbers in six time zones
 * whose calling hours open one after the other, and an outage of the provider at noon. Every placement is compared
 * with the earliest moment that hours, outage and pace allow it.
 */
import { createDialerMemory } from "../../functions/dialer/wiring.ts";
import { callIdOf } from "../../shared/calls/ids.ts";
import { createD1Documents } from "../../shared/documents/d1-documents.ts";
import { createD1Ledger } from "../../shared/ledger/d1-ledger.ts";
import { aCall, aRequestId } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";
import { request } from "../support/dialer-calls.ts";
import { summary } from "./measure.ts";
import { report, table } from "./report.ts";
import { createSqliteD1 } from "./sqlite-d1.ts";

/** Calls of all accounts together; a multiple of a hundred thousand. */
const calls = Number(process.env["DAY_CALLS"] ?? 500_000);
const requestCalls = 10_000;
const consumers = 20;
const minuteMs = 60_000;
const startAt = Date.parse("2026-06-02T11:00Z");
const endAt = startAt + 12 * 60 * minuteMs;
/** Noon in New York. Connections are refused. */
const outage = { from: Date.parse("2026-06-02T16:00Z"), to: Date.parse("2026-06-02T16:45Z") };
/** The longest pause between two probes of an outage. */
const probeMsMax = 2 * minuteMs;

/** Time zones with the area code of a city and their share of the calls; `opensAt` of the hours "us-federal". */
const zones = [
  { zone: "America/New_York", area: "212", share: 0.35, opensAt: "12:00" },
  { zone: "America/Chicago", area: "312", share: 0.25, opensAt: "13:00" },
  { zone: "America/Denver", area: "303", share: 0.1, opensAt: "14:00" },
  { zone: "America/Los_Angeles", area: "213", share: 0.2, opensAt: "15:00" },
  { zone: "America/Anchorage", area: "907", share: 0.05, opensAt: "16:00" },
  { zone: "Pacific/Honolulu", area: "808", share: 0.05, opensAt: "18:00" },
].map((one) => ({ ...one, opensAt: Date.parse(`2026-06-02T${one.opensAt}Z`) }));

/** Calls a second of each account. The slow ones are never done before the afternoon, the fast ones after each opening. */
const paces = [2, 2.5, 3, 3, 4, 5, 8, 10, 20, 40];
const accounts = paces.map((callsPerSecond, index) => ({
  name: `account${index}`,
  callsPerSecond,
  agents: [`agent${index}a`, `agent${index}b`],
  calls: calls / paces.length,
}));

const plan = {
  agents: Object.fromEntries(
    accounts.flatMap(({ name, agents }) =>
      agents.map((agent) => [agent, { provider: name, url: "http://127.0.0.1:9/dial" }]),
    ),
  ),
  providers: Object.fromEntries(
    accounts.map(({ name, callsPerSecond }) => [
      name,
      { type: "webhook", callsPerSecond, concurrency: 25 },
    ]),
  ),
  callingHours: { default: "us-federal" },
  destinations: { allow: ["US"] },
  expireAfterHours: 72,
};

const sqlite = createSqliteD1();
const bench = createDialerBench({
  startAt: new Date(startAt).toISOString(),
  concurrency: 25,
  plan,
});
bench.deps.ledger = createD1Ledger(sqlite.database);
bench.deps.documents = createD1Documents(sqlite.database, bench.now, bench.deps.random.version);
bench.deps.log = () => undefined;
/** Moments of placements, by account. */
const placed = new Map<string, number[]>(accounts.map(({ name }) => [name, []]));
const placedIds = new Set<string>();
let twice = 0;
bench.answer = async (call, route) => {
  await bench.sleep(150);
  const now = bench.now();
  if (now >= outage.from && now < outage.to) {
    return { kind: "not_placed", code: "connection_refused", unanswered: true };
  }
  if (placedIds.has(call.id)) twice += 1;
  placedIds.add(call.id);
  placed.get(route.provider)?.push(now);
  return { kind: "placed" };
};

/** The zone of the n-th of a hundred calls. */
const zoneOf = (n: number) => {
  let share = (n % 100) / 100 + 0.005;
  return zones.find((zone) => (share -= zone.share) < 0) ?? zones[0];
};
for (const account of accounts) {
  for (let from = 0; from < account.calls; from += requestCalls) {
    const requestId = aRequestId(bench.now());
    const agent = account.agents[(from / requestCalls) % 2] ?? "";
    const of = Array.from({ length: Math.min(requestCalls, account.calls - from) }, (_, index) => {
      const { zone = "", area = "" } = zoneOf(index) ?? {};
      return aCall({
        id: callIdOf(requestId, index),
        requestId,
        acceptedAt: bench.now(),
        request: {
          phone_number: `+1${area}${2_000_000 + from + index}`,
          agent_id: agent,
          timezone: zone,
        },
      });
    });
    await bench.send(request(of));
  }
}

const processes = Array.from({ length: consumers }, () => ({ memory: createDialerMemory() }));
const startedAt = performance.now();
for (let at = startAt; at < endAt; at += 30 * minuteMs) {
  await bench.simulate(30 * 60, { consumers, processes });
  const done = [...placed.values()].reduce((sum, { length }) => sum + length, 0);
  console.error(
    new Date(bench.now()).toISOString(),
    done,
    `${Math.round((performance.now() - startedAt) / 1000)} s`,
  );
  if (done >= calls) break;
}

/** The earliest moments at which an account's calls can be placed. */
function earliest({ callsPerSecond, calls: count }: (typeof accounts)[number]): number[] {
  const dues = zones.flatMap(({ opensAt, share }) =>
    Array.from({ length: Math.round(count * share) }, () => opensAt),
  );
  let at = 0;
  return dues.map((dueAt) => {
    at = Math.max(at + 1000 / callsPerSecond, dueAt);
    if (at >= outage.from && at < outage.to) at = outage.to;
    return at;
  });
}

const figures = accounts.map((account) => {
  const moments = placed.get(account.name)?.toSorted((a, b) => a - b) ?? [];
  const late = earliest(account).map((at, index) => (moments[index] ?? Infinity) - at);
  return { account, placed: moments.length, late: summary(late) };
});
const all = figures.reduce((sum, one) => sum + one.placed, 0);
const latest = Math.max(...figures.map(({ late }) => late.high));
const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const inWords = calls.toLocaleString("en");
report({
  title: "A long day",
  text: [
    `Simulated: ${inWords} calls of ${accounts.length} accounts, accepted at 11:00 UTC in requests of ${requestCalls.toLocaleString("en")}, ` +
      `with numbers in six time zones whose calling hours open from 12:00 to 18:00, and no connection to any provider from 16:00 to 16:45. ` +
      `${consumers} deliveries at once, a sweep once a minute, D1's adapter over SQLite in this process. A placement is late by the ` +
      "time since the earliest moment at which hours, outage and pace allow that many placements of its account:",
    table(
      ["calls a second", "calls", "placed", "late, median", "late, most"],
      figures.map(({ account, placed: count, late }) => [
        String(account.callsPerSecond),
        account.calls.toLocaleString("en"),
        count.toLocaleString("en"),
        inSeconds(late.median),
        inSeconds(late.high),
      ]),
    ),
    `${(sqlite.statements() / calls).toFixed(2)} statements a call, sweeps included.`,
  ].join("\n\n"),
  targets: [
    {
      what: `a day of ${inWords} calls through six time zones, with an outage at noon: placed, and twice`,
      target: `${inWords}; 0`,
      measured: `${all.toLocaleString("en")}; ${twice}`,
      met: all === calls && twice === 0,
    },
    {
      what: "the same day: the longest that a call is late that could have gone",
      target: `≤ ${probeMsMax / 1000} s, the longest pause between probes`,
      measured: inSeconds(latest),
      met: latest <= probeMsMax,
    },
  ],
});
