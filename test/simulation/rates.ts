/**
 * Measures how well the pace of an account is kept, in simulated time, by functions that share nothing but a
 * slow ledger. The command `npm run rates` measures every case and exits with 1 if a figure misses its bound.
 */
import { argv } from "node:process";
import { printHelp } from "#infra/cli/help.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aRequestId } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";
import { slowDown } from "./dispatch-bench.ts";
import { type Bench, callsNow, request, webhook } from "../support/dialer-calls.ts";

/** A request of many calls to one account. */
export interface RateCase {
  callsPerSecond: number;
  /** Response time of ledger and documents. */
  ledgerMs: number;
  calls: number;
}

/** Result of a run. */
export interface Rates extends RateCase {
  /** Requests a second, as a share of the pace. */
  share: number;
  /** Maximum requests within one second, and the maximum that pace and burst allow. */
  peak: number;
  peakMax: number;
  /** Claims that ended without a request, as a share of the calls. */
  unsent: number;
  /** The longest time by which a later call overtook an earlier one. */
  overtakenMs: number;
  /** Messages on the queue, as a share of the calls. */
  messages: number;
}

const consumers = 20;
/** Calls that are dialed before the account is known to answer. */
const firstCalls = 5;
/** Pace from which on permits are good for 100 ms: a tenth more may leave in a second. */
const fastPace = 20;

/** Dials a request of calls at a pace, from its acceptance until the last call is placed. */
export async function measureRates({ callsPerSecond, ledgerMs, calls }: RateCase): Promise<Rates> {
  const bench = createDialerBench({
    startAt: "2026-06-01T10:00Z",
    concurrency: 25,
    plan: {
      agents: { "*": webhook },
      providers: { webhook: { callsPerSecond, concurrency: 25 } },
      expireAfterHours: 72,
    },
  });
  bench.answer = async () => {
    await bench.sleep(120);
    return { kind: "placed" };
  };
  slowDown(bench, ledgerMs);
  const requestId = aRequestId(bench.now());
  const all = callsNow(bench, calls, { timezone: "UTC" }).map((call, index) => ({
    ...call,
    requestId,
    id: toCallId(requestId, index),
  }));
  await bench.send(request(all));
  const processes = Array.from({ length: consumers }, () => ({ memory: createDialerMemory() }));
  const secondsMost = 600 + (calls / callsPerSecond) * 2;
  for (let seconds = 0; seconds < secondsMost && bench.dialed.length < calls; seconds += 60) {
    await bench.simulate(60, { consumers, processes });
  }
  return { callsPerSecond, ledgerMs, calls, ...(await figuresOf(bench, callsPerSecond)) };
}

async function figuresOf(bench: Bench, callsPerSecond: number) {
  const all = bench.dialed.toSorted((a, b) => a.at - b.at);
  // Until a backlog's first answer five of its calls are under way at most.
  const dialed = all.slice(firstCalls);
  const times = dialed.map(({ at }) => at);
  const count = times.length;
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
  let claimsUnsent = 0;
  for (const { call } of dialed) {
    const states = (await bench.row(call.id))?.history.map(({ state }) => state) ?? [];
    claimsUnsent += states.filter(
      (state, i) => state === "WAITING" && states[i - 1] === "DIALING",
    ).length;
  }
  return {
    share: (count - 1) / seconds / callsPerSecond,
    peak: peakOf(times),
    peakMax: Math.ceil(callsPerSecond * (callsPerSecond >= fastPace ? 1.1 : 1)) + 1,
    unsent: claimsUnsent / count,
    overtakenMs: overtakenMs(dialed),
    messages: bench.sent() / count,
  };
}

/** Maximum number of the sorted times within one second. */
export function peakOf(times: readonly number[]): number {
  let from = 0;
  let peak = 0;
  for (const [index, at] of times.entries()) {
    while ((times[from] ?? at) <= at - 1000) from += 1;
    peak = Math.max(peak, index - from + 1);
  }
  return peak;
}

function overtakenMs(dialed: readonly { call: { id: string }; at: number }[]): number {
  const inOrder = dialed.toSorted((a, b) => (a.call.id < b.call.id ? -1 : 1)).toReversed();
  let earliestLater = Infinity;
  let longest = 0;
  for (const { at } of inOrder) {
    longest = Math.max(longest, at - earliestLater);
    earliestLater = Math.min(earliestLater, at);
  }
  return longest;
}

/** Returns descriptions of the figures that miss their bounds; empty if none does. */
export function missesOf(rates: Rates): string[] {
  const { callsPerSecond, ledgerMs, share, peak, peakMax, unsent, overtakenMs: overtaken } = rates;
  const least = ledgerMs > 100 ? (callsPerSecond === 100 ? 0.88 : 0.93) : 0.98;
  return [
    ...(share >= least ? [] : [`${share.toFixed(3)} of the pace, ${least} at least`]),
    ...(peak <= peakMax ? [] : [`${peak} in a second, ${peakMax} at most`]),
    ...(unsent <= 0.02 ? [] : [`${unsent.toFixed(3)} claimed and not sent, 0.02 at most`]),
    ...(callsPerSecond < 1 || overtaken <= 60_000 ? [] : [`overtaken by ${overtaken} ms`]),
  ];
}

if (argv[1] === import.meta.filename) {
  printHelp(`npm run rates

Measures in simulated time how well accounts keep their pace, at several paces and speeds of the ledger. Ends with 1 if a
figure misses its bound. Takes minutes.`);
  let missed = 0;
  for (const callsPerSecond of [0.1, 1, 20, 100]) {
    for (const ledgerMs of [5, 100, 700]) {
      const rates = await measureRates({ callsPerSecond, ledgerMs, calls: 10_000 });
      const misses = missesOf(rates);
      missed += misses.length;
      console.log(JSON.stringify(rates), misses.join("; "));
    }
  }
  process.exitCode = missed === 0 ? 0 : 1;
}
