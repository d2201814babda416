import { createApp } from "../../functions/api/app.ts";
import type { DialerDeps } from "../../functions/dialer/dialer.ts";
import { callsOf } from "../../functions/dialer/split-batch.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import type { Log, LogFields } from "../../shared/log.ts";
import {
  readApiSettings,
  readDialerSettings,
  readOperators,
  readTokens,
} from "../../shared/settings.ts";
import { type Answer, createClients } from "./clients.ts";
import { violationsOf } from "./invariants.ts";
import { createOperatorActs } from "./operator-acts.ts";
import { environment, planOf } from "./plan.ts";
import { type Faults, reachLedger } from "./outside.ts";
import { createSimulatedProvider } from "./provider.ts";
import { createSimulatedQueue } from "./queue.ts";
import { calmWeather, type Scenario } from "./scenario.ts";
import { noStops, World } from "./world.ts";

const hourMs = 3_600_000;
/** A Thursday: within a week of it clocks are put back in Europe, and then in America. */
const firstStart = Date.parse("2026-10-22T12:00:00Z");
/** Faults end then; what is left to do must be done without them. */
const stormMs = 1.2 * hourMs;
/** An API's invocation. */
const apiLifeMs = 30_000;

/** What a run came to. */
export interface Report {
  violations: string[];
  accepted: number;
  placed: number;
  /** Requests, messages and posts that came again, and led to no second placement. */
  suppressed: number;
  unknown: number;
  parked: number;
  killed: number;
  frozen: number;
  /** What happened, where it was to be told. */
  trace: string[];
}

/**
 * Runs the API, the dialer, the dial plan and its schedule over a simulated queue, ledger, provider and clock, as a
 * scenario says, until every call has come to its end; and holds the promises against what happened.
 *
 * @param options.pauses steps such as `claim` (before it is made) and `claim answers`: the first function to take one
 *   stands still there, for so many milliseconds; `answersFirst` says what it finds then
 */
export async function simulate(
  scenario: Scenario,
  {
    traced = false,
    pauses = {},
    answersFirst = false,
  }: { traced?: boolean; pauses?: Record<string, number>; answersFirst?: boolean } = {},
): Promise<Report> {
  const startAt = firstStart + scenario.startMinutes * 60_000;
  const world = new World(scenario.seed, startAt);
  world.traced = traced;
  world.answersFirst = answersFirst;
  for (const [step, ms] of Object.entries(pauses)) world.pauses.set(step, ms);
  const stormEnd = startAt + stormMs;
  const isStormy = () => world.now() < stormEnd;
  const weather = () => (isStormy() ? scenario.weather : calmWeather);
  const isOut = (of: Scenario["outages"][number]["of"]) =>
    scenario.outages.some((outage) => {
      const from = startAt + outage.atSeconds * 1000;
      return outage.of === of && world.now() >= from && world.now() < from + outage.seconds * 1000;
    });
  const faultsOf = (of: "ledger" | "queue") => (): Faults => {
    const { before, after, slow } = weather();
    return isOut(of) && isStormy() ? { before: 0.9, after, slow } : { before, after, slow };
  };

  const events: (LogFields & { level: string; event: string })[] = [];
  const log: Log = (level, event, fields) => {
    events.push({ level, event, ...fields });
    world.note(`log ${event} ${JSON.stringify(fields)}`);
  };
  const variables = environment(scenario);
  const memory = createMemoryLedger();
  const ledger = reachLedger(memory, world, faultsOf("ledger"));
  const plan = planOf(scenario);
  const provider = createSimulatedProvider(world, () =>
    isOut("providers") && isStormy() ? { ...weather(), vanished: 0.6 } : weather(),
  );
  const settings = readDialerSettings(variables, undefined, () => provider.providerOf, log);
  const sleep = (ms: number) => {
    if (ms > 0) world.mayStop("sleep");
    return world.wait(ms, "sleep");
  };
  const clock = { now: world.now, sleep };
  const dialerDeps = (): DialerDeps => ({
    queue: queue.queue,
    ledger,
    settings,
    clock,
    random: { token: world.hex, fraction: world.random },
    lanes: 4,
    log,
  });
  const queue = createSimulatedQueue(
    world,
    faultsOf("queue"),
    () => ({
      consumers: scenario.consumers,
      lifeMs: scenario.lifeSeconds * 1000,
      batchSize: scenario.batchSize,
      visibilityMs: scenario.visibilitySeconds * 1000,
      attemptsMax: scenario.attemptsMax,
      double: weather().double,
      lostResult: weather().lostResult,
      lateMs: isStormy() ? scenario.lateSeconds * 1000 : 0,
      partial: weather().partial,
    }),
    dialerDeps,
  );
  const app = createApp({
    queue: queue.queue,
    ledger: async () => ledger,
    settings: readApiSettings(variables, undefined, log),
    callerOf: readTokens(variables, log),
    operatorOf: readOperators(variables, log),
    clock: { now: world.now },
    randomId: world.hex,
    log,
  });
  const answers: Answer[] = [];
  const request = async (path: string, init: RequestInit): Promise<Answer | undefined> => {
    const answer = await world.invoke(
      "api",
      async () => {
        const response = await app.request(path, init);
        const text = await response.text();
        world.mayStop("the API answers");
        await world.wait(world.between(1, 50), "an answer is on its way");
        const requestId = response.headers.get("x-request-id") ?? "";
        return { path, status: response.status, text, requestId };
      },
      apiLifeMs,
    );
    world.note(`answer ${path} ${answer?.status ?? "none"} ${answer?.requestId ?? ""}`);
    if (answer !== undefined) answers.push(answer);
    return answer;
  };

  const clients = createClients(world, scenario, request);
  const operator = createOperatorActs(world, scenario, request, provider.placements);
  world.after(0, "the storm begins", () => {
    world.stops = { kill: scenario.weather.kill, freeze: scenario.weather.freeze };
  });
  world.after(stormMs, "the storm ends", () => {
    world.stops = noStops;
  });

  /** The clock's minute; rarer once nothing is left but to wait. */
  const endAt = startAt + (plan.expireAfterHours + 3) * hourMs;
  const tick = async () => {
    const next = await memory.due({ until: Infinity, limit: 1 });
    const lines = await memory.lines();
    const waits = (next[0]?.dueAt ?? endAt) - world.now() - 100_000;
    const isQuiet = !isStormy() && queue.isQuiet() && lines.length === 0 && waits > 60_000;
    if (!isStormy() || !world.chance(scenario.sweepLost)) queue.tick({ kind: "sweep" });
    world.after(isQuiet ? Math.min(waits, 6 * hourMs) : 60_000, "the clock's minute", () => {
      if (world.now() < endAt) void tick();
    });
  };
  world.after(world.random() * 60_000, "the clock's minute", () => void tick());

  await world.run(endAt);
  const seen = await operator.everything();
  const calls = queue.seen.flatMap((message) => {
    if (message.kind === "call") return [message.call];
    return message.kind === "batch" ? callsOf(message) : [];
  });
  const repeated = queue.stats.again + queue.stats.doubled + clients.repeats();
  const unknown = new Set(
    events.filter(({ event }) => event === "call.unknown").map(({ call_id }) => call_id),
  );
  return {
    violations: violationsOf({
      plan,
      scenario,
      posted: clients.posted,
      calls,
      requests: provider.requests,
      placements: provider.placements,
      rows: seen,
      acts: operator.done,
      answers,
      events,
      secrets: Object.values(variables),
    }),
    accepted: clients.posted.filter(({ status }) => status === "accepted").length,
    placed: provider.placements.length,
    suppressed: repeated + provider.stats.suppressed,
    unknown: unknown.size,
    parked: seen.filter(({ state }) => state === "PARKED").length,
    killed: world.killed,
    frozen: world.frozen,
    trace: world.trace,
  };
}
