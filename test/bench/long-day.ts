/**
 * Simulates a day of 500,000 calls on D1's adapter over SQLite: ten accounts with paces, numbers in six time zones
 * whose calling hours open one after the other, and an outage of the provider at noon. Counts the
 * share of the pace that is used while calls are due, and the pauses after openings and the outage.
 */
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { aCall, aRequestId } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";
import { request } from "../support/dialer-calls.ts";
import { report, table } from "./report.ts";
import { createSqliteD1 } from "../support/sqlite-d1.ts";

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
bench.deps.documents = createD1Documents(sqlite.database, {
  now: bench.now,
  freshVersion: bench.deps.random.version,
});
bench.deps.log = () => undefined;
/** Moments of placements, by account. */
const placed = new Map<string, number[]>(accounts.map(({ name }) => [name, []]));
const placedIds = new Set<string>();
let twice = 0;
bench.answer = async (call, route) => {
  await bench.sleep(150);
  const now = bench.now();
  if (now >= outage.from && now < outage.to) {
    return { kind: "not_placed", code: "connection_refused", unreachable: true };
  }
  if (placedIds.has(call.id)) twice += 1;
  placedIds.add(call.id);
  placed.get(route.account)?.push(now);
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
        id: toCallId(requestId, index),
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

/** The placements of an account's calls. */
interface Figures {
  account: (typeof accounts)[number];
  placed: number;
  /** Placements in the minutes in which enough calls could go, as a share of the pace. */
  share: number | undefined;
  /** The lowest share of five such minutes in a row. */
  worst: number | undefined;
  /** The longest time from an opening, or the end of the outage, to the next placement, while calls were due. */
  pauseMs: number;
}

function figuresOf(account: (typeof accounts)[number]): Figures {
  const { callsPerSecond } = account;
  const permitTimes = placed.get(account.name)?.toSorted((a, b) => a - b) ?? [];
  const before = (at: number) => {
    const index = permitTimes.findIndex((permitAt) => permitAt >= at);
    return index < 0 ? permitTimes.length : index;
  };
  const dueAt = (at: number) =>
    zones
      .filter(({ opensAt }) => opensAt <= at)
      .reduce((sum, { share }) => sum + share * account.calls, 0) - before(at);
  const shares: number[] = [];
  const worst: number[] = [];
  for (let at = startAt; at < endAt; at += minuteMs) {
    // In the first minutes after an opening or the outage the dialer notices it: `pauseMs` tells.
    const isQuiet = [...zones.map(({ opensAt }) => opensAt), outage.to].some(
      (from) => at >= from && at < from + probeMsMax,
    );
    const isOut = at >= outage.from - minuteMs && at < outage.to;
    if (isQuiet || isOut || dueAt(at) < callsPerSecond * 120) continue;
    shares.push((before(at + minuteMs) - before(at)) / (callsPerSecond * 60));
    if (shares.length >= 5) worst.push(meanOf(shares.slice(-5)));
  }
  const pauses = [...zones.map(({ opensAt }) => opensAt), outage.to].flatMap((at) => {
    const next = permitTimes[before(at)];
    const isOut = at >= outage.from && at < outage.to;
    return isOut || next === undefined || dueAt(at) < 1 ? [] : next - at;
  });
  return {
    account,
    placed: permitTimes.length,
    share: shares.length === 0 ? undefined : meanOf(shares),
    worst: worst.length === 0 ? undefined : Math.min(...worst),
    pauseMs: Math.max(...pauses),
  };
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

const figures = accounts.map(figuresOf);
const all = figures.reduce((sum, one) => sum + one.placed, 0);
const inWords = calls.toLocaleString("en");
const least = Math.min(...figures.flatMap(({ share }) => share ?? []));
const inThousandths = (share: number | undefined) => share?.toFixed(3) ?? "never as many due";
const longest = Math.max(...figures.map(({ pauseMs }) => pauseMs));
report({
  title: "A long day",
  text: [
    `Simulated: ${inWords} calls of ${accounts.length} accounts, accepted at 11:00 UTC in requests of ${requestCalls.toLocaleString("en")}, ` +
      `with numbers in six time zones whose calling hours open from 12:00 to 18:00, and no connection to any provider from 16:00 to 16:45. ` +
      `${consumers} deliveries at once, a sweep once a minute, D1's adapter over SQLite in this process. The share of the pace is ` +
      "that of the minutes in which calls enough for two were due; the pause is the longest one from an opening, or from the end of the outage, to the next placement:",
    table(
      ["calls a second", "calls", "placed", "share of the pace", "worst five minutes", "pause"],
      figures.map(({ account, placed: count, share, worst, pauseMs }) => [
        String(account.callsPerSecond),
        account.calls.toLocaleString("en"),
        count.toLocaleString("en"),
        inThousandths(share),
        inThousandths(worst),
        `${(pauseMs / 1000).toFixed(1)} s`,
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
      what: "the same day: share of the pace while calls are due, the least of ten accounts",
      target: "≥ 0.95",
      measured: least.toFixed(3),
      met: least >= 0.95,
    },
    {
      what: "the same day: from an opening or the end of the outage to the next placement",
      target: `≤ ${probeMsMax / 1000} s, the longest pause between probes`,
      measured: `${(longest / 1000).toFixed(1)} s`,
      met: longest <= probeMsMax,
    },
  ],
});
