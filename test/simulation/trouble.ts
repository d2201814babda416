import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { createDialerBench } from "../support/dialer.ts";
import { type Bench, numberOf, pause, request } from "../support/dialer-calls.ts";
import { peakOf } from "./rates.ts";

/**
 * Several clients and agents whose accounts are in all kinds of trouble for minutes, beside some that are
 * well. Functions share nothing but ledger and queue, their clocks differ by up to two seconds, and sweeps and
 * dispatchers die half-way or overlap.
 */

const minuteMs = 60_000;
const troubledMs = 12 * minuteMs;
const host = (name: string) => ({ provider: name, url: `https://${name}.example/dial` });

/** Agents, named by the condition of their account or list. */
const agents = {
  well: host("well"),
  paced: host("paced"),
  hangs: host("hangs"),
  fails: host("fails"),
  /** They use one account: the list of one is refused, others hang, are busy and are denied, and one is well. */
  refused: host("shared"),
  stuck: host("shared"),
  busy: host("shared"),
  denied: host("shared"),
  beside: host("shared"),
  /** Half of its numbers are forbidden. */
  forbidden: host("forbidden"),
  /** The plan loses this agent. */
  gone: host("gone"),
  held: host("held"),
};
type Agent = keyof typeof agents;
const { gone: _gone, ...withoutGone } = agents;
/** Agents whose every call must be dialed in its turn. */
const healthy: readonly Agent[] = ["well", "paced", "beside", "forbidden"];
const clients = ["crm", "shop", "clinic"];
/** Maximum delay of a healthy agent's call. */
const lateMsMax = 1.5 * minuteMs;
const expireAfterHours = 1;
/** Agents whose calls are surely not placed, and are sent again: those of `refused` as probes. */
const sentAgain: readonly Agent[] = ["fails", "busy", "denied", "refused"];
/** Interval from which on the requests of a backlog are probes: later ones come every two minutes. */
const probeMsMin = 60_000;
/** Number of deliveries at once, each in a process of its own. */
const consumers = 8;

/** Returns a generator of numbers between 0 and 1 from a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Runs one seed. Resolves to the broken promises. */
export async function simulateTrouble(seed: number): Promise<string[]> {
  const random = randomOf(seed);
  const between = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const callsPerSecond = [1, 2, 5][between(0, 2)] ?? 1;
  const providers = Object.fromEntries(
    [...new Set(Object.values(agents).map(({ provider }) => provider))].map((name) => [
      name,
      { type: "webhook", timeoutSeconds: 10, ...(name === "paced" ? { callsPerSecond } : {}) },
    ]),
  );
  const plan = { agents, providers, expireAfterHours, reviewAfterSeconds: 600 };
  const bench = createDialerBench({ plan, consumers, startAt: "2026-06-01T10:00Z", isNew: true });
  const startedAt = bench.now();
  bench.deps.random.fraction = random;
  bench.answer = (call) => answerOf(call, bench, bench.now() - startedAt < troubledMs, random);
  const processOf = () => ({
    memory: createDialerMemory(),
    clock: { now: offClock(bench, between(-2000, 2000)), sleep: bench.sleep },
  });
  const processes = Array.from({ length: consumers }, processOf);
  const sweeper = () => dying(bench, random, between(5, 60));
  const dispatcher = () => ({ ...processOf(), ...dying(bench, random, between(5, 200)) });
  const accepted: Call[] = [];
  let nextSweepAt = startedAt;
  const simulate = async (seconds: number) => {
    const firstSweepSeconds = (nextSweepAt - bench.now()) / 1000;
    await bench.simulate(seconds, { consumers, processes, sweeper, dispatcher, firstSweepSeconds });
    while (nextSweepAt <= bench.now()) nextSweepAt += minuteMs;
  };
  for (let step = 0; step < 60; step++) {
    for (const calls of arrivalsOf(bench, random, callsPerSecond)) {
      accepted.push(...calls);
      await bench.send(request(calls));
    }
    if (step === 20) bench.changePlan({ ...plan, agents: withoutGone });
    if (step === 10) await pause(bench, { agent: "held" });
    await simulate(10);
  }
  await simulate((expireAfterHours + 1) * 3600 + 15 * 60);
  return violationsOf(bench, accepted, callsPerSecond);
}

function offClock(bench: Bench, offsetMs: number): () => number {
  return () => bench.now() + offsetMs;
}

/**
 * Returns the ports of a function whose reads and writes sometimes go unanswered from some time on: it has died, and
 * its lease or its last beat stands.
 */
function dying(bench: Bench, random: () => number, callsLeft: number): Partial<DialerDeps> {
  if (random() < 0.7) return {};
  let left = callsLeft;
  const failing = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return (...words: unknown[]) =>
          left-- > 0
            ? (Reflect.apply(method, target, words) as unknown)
            : new Promise(() => undefined);
      },
    });
  return { ledger: failing(bench.rows), documents: failing(bench.documents) };
}

/** Returns the calls accepted within ten seconds: for healthy accounts no more than they can take. */
function arrivalsOf(bench: Bench, random: () => number, callsPerSecond: number): Call[][] {
  const most: Record<Agent, number> = {
    well: 20,
    paced: Math.floor(6 * callsPerSecond),
    hangs: 120,
    fails: 60,
    refused: 60,
    stuck: 60,
    busy: 60,
    denied: 30,
    beside: 10,
    forbidden: 10,
    gone: 5,
    held: 5,
  };
  return Object.entries(most).flatMap(([agent_id, count]) => {
    if (random() < 0.6) return [];
    const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("");
    const requestId = createRequestId(bench.now(), hex);
    const client = clients[Math.floor(random() * clients.length)] ?? "crm";
    const batchCalls = 1 + Math.floor(random() * count);
    const calls = Array.from({ length: batchCalls }, (_, index) => ({
      id: toCallId(requestId, index),
      requestId,
      batchCalls,
      client,
      mode: "live" as const,
      acceptedAt: bench.now(),
      request: { phone_number: numberOf(Math.floor(random() * 10_000)), agent_id },
    }));
    return [calls];
  });
}

const isForbidden = ({ request: { phone_number } }: Call) => Number(phone_number.at(-1)) % 2 === 0;

async function answerOf(
  call: Call,
  bench: Bench,
  isTroubled: boolean,
  random: () => number,
): Promise<DialOutcome> {
  const agent = call.request.agent_id;
  if ((agent === "hangs" || agent === "stuck") && isTroubled) {
    await bench.sleep(10_000);
    return { kind: "unknown", code: "time_out" };
  }
  await bench.sleep(20 + random() * 300);
  if (agent === "fails" && isTroubled) {
    return { kind: "not_placed", code: "http_503", unreachable: true };
  }
  if (agent === "busy" && isTroubled) {
    return { kind: "not_placed", code: "http_429", retryAfterSeconds: Math.floor(random() * 60) };
  }
  if (agent === "denied" && isTroubled) return { kind: "account_refused", code: "http_401" };
  if (agent === "refused") return { kind: "rejected", code: "http_422" };
  if (agent === "forbidden" && isForbidden(call)) {
    return { kind: "rejected", code: "telnyx_d13", blamesNumber: true };
  }
  return { kind: "placed" };
}

async function violationsOf(
  bench: Bench,
  accepted: readonly Call[],
  callsPerSecond: number,
): Promise<string[]> {
  const violations: string[] = [];
  const dialedAt = new Map<string, number[]>();
  for (const { call, at } of bench.dialed) {
    dialedAt.set(call.id, [...(dialedAt.get(call.id) ?? []), at]);
  }
  const isHealthy = new Set<string>(healthy);
  const isSentAgain = new Set<string>(sentAgain);
  const turns = turnsOf(accepted, callsPerSecond);
  for (const call of accepted) {
    const agent = call.request.agent_id;
    const [at, ...again] = dialedAt.get(call.id) ?? [];
    const { state } = (await bench.row(call.id)) ?? {};
    if (again.length > 0 && !isSentAgain.has(agent))
      violations.push(`${call.id} of ${agent} sent twice`);
    if (state === undefined || state === "WAITING" || state === "DIALING") {
      violations.push(`${call.id} of ${agent} was left ${state ?? "without a row"}`);
    }
    if (!isHealthy.has(agent)) continue;
    const lateMs = (at ?? Infinity) - (turns.get(call.id) ?? call.acceptedAt);
    if (lateMs > lateMsMax) violations.push(`${call.id} of ${agent} was ${lateMs / 1000} s late`);
  }
  // Clocks are up to four seconds apart, and each may add four seconds' worth of requests.
  const times = bench.dialed.filter(({ call }) => call.request.agent_id === "paced");
  const peak = peakOf(times.map(({ at }) => at).toSorted((a, b) => a - b));
  if (peak > 5 * callsPerSecond + 1) violations.push(`${peak} requests in a second`);
  return [...violations, ...probesOf(bench)];
}

/** Returns the time of each call's turn: with a pace, after the calls accepted before it. */
function turnsOf(accepted: readonly Call[], callsPerSecond: number): Map<string, number> {
  let next = 0;
  const paced = accepted
    .filter(({ request: { agent_id } }) => agent_id === "paced")
    .toSorted((a, b) => a.acceptedAt - b.acceptedAt);
  return new Map(
    paced.map(({ id, acceptedAt }) => {
      const turn = Math.max(acceptedAt, next);
      next = turn + 1000 / callsPerSecond;
      return [id, turn];
    }),
  );
}

/**
 * Checks that the probes of a failing backlog rotate. Requests this far apart are probes, and a call must not be probed with
 * twice in a row while others wait.
 */
function probesOf(bench: Bench): string[] {
  const failing = bench.dialed.filter(({ call }) => call.request.agent_id === "fails");
  const backlogs = Map.groupBy(failing, ({ call }) => call.client);
  return [...backlogs.values()].flatMap((own) => {
    const probedAgain = own.filter(({ call, at }, index) => {
      const [earlier, before] = [own[index - 2], own[index - 1]];
      if (earlier === undefined || before === undefined || before.call.id !== call.id) return false;
      if (before.at - earlier.at <= probeMsMin) return false; // not a probe yet
      const others = own
        .slice(index)
        .some((one) => one.call.id !== call.id && one.call.acceptedAt < before.at);
      return others && at - before.at > probeMsMin;
    });
    return probedAgain.map(({ call }) => `${call.id} was probed with twice in a row`);
  });
}
