import { handleDelivery } from "../../functions/dialer/handle-delivery.ts";
import type { DialerDeps } from "../../functions/dialer/dialer.ts";
import type { Call } from "../../shared/call.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import type { Message } from "../../shared/message.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";
import { readDialerSettings } from "../../shared/settings.ts";
import { OutsideError } from "./outside.ts";
import { environment } from "./plan.ts";
import type { agents } from "./scenario.ts";
import { type Happening, World } from "./world.ts";

/** What is tried of one call along one route. */
export interface Exploration {
  agent: (typeof agents)[number];
  /** So often a function is killed, at most. */
  kills: number;
  /** So often time passes in which nobody does anything, at most: whoever is under way stands still. */
  jumps: number;
  /** So often a write of the ledger fails, done or not done, at most. */
  faults: number;
}

/** Past a claim's age and deadline, and past the time for which an outcome is looked into. */
const jumpMs = 301_000;
const startAt = Date.parse("2026-10-22T12:00:00Z");
const lifeMs = 15 * 60_000;
/** Sweeps and deliveries that are left at the end, each a minute later, when nothing goes wrong any more. */
const calmRounds = 12;

const parsed = readDialerSettings(
  environment({ hours: false, capped: false }),
  undefined,
  () => () => {
    throw new Error("each order of things has a provider of its own");
  },
  () => undefined,
);
const settings = "value" in parsed ? parsed.value : undefined;

const call: Call = {
  id: `call_${"1".repeat(32)}`,
  requestId: "req_1",
  client: "crm",
  acceptedAt: startAt,
  request: { phone_number: "+12125550100", agent_id: "plain", timezone: "UTC" },
};

const routes = ["plain", "again", "command", "known"] as const;
/** What is tried where all of it is: each route, and one of each kind of trouble. */
export const explorations: readonly Exploration[] = [
  ...routes.map((agent) => ({ agent, kills: 1, jumps: 0, faults: 0 })),
  ...routes.map((agent) => ({ agent, kills: 0, jumps: 0, faults: 1 })),
  ...routes.map((agent) => ({ agent, kills: 0, jumps: 1, faults: 0 })),
  { agent: "plain", kills: 1, jumps: 1, faults: 0 },
];

export interface Explored {
  /** Different situations that were reached. */
  situations: number;
  endings: number;
  /** The choices that led to the first ending that breaks a promise, and which. */
  broken?: { choices: number[]; violations: string[]; trace: string[] };
}

/**
 * Tries every order in which two dialers, who were both delivered one call, and a sweep may do what they do: each
 * step of one of them that others can see is taken before or after each step of the others, with time passing in
 * between, functions killed, and each thing that may become of a request. A situation that was reached before is
 * not gone on from again.
 */
export async function explore(exploration: Exploration): Promise<Explored> {
  const reached = new Set<string>();
  const open: number[][] = [[]];
  const endings = new Set<string>();
  for (let choices = open.pop(); choices !== undefined; choices = open.pop()) {
    const ending = await play(exploration, choices, endings, (situation, options, path) => {
      if (reached.has(situation)) return false;
      reached.add(situation);
      for (let option = options - 1; option > 0; option--) open.push([...path, option]);
      return true;
    });
    if (ending === undefined) continue;
    if (ending.violations.length > 0) {
      return { situations: reached.size, endings: endings.size, broken: ending };
    }
  }
  return { situations: reached.size, endings: endings.size };
}

/** Plays one order of things: the given choices, and the first of whatever there is to choose after them. */
async function play(
  { agent, kills, jumps, faults }: Exploration,
  choices: readonly number[],
  endings: Set<string>,
  isNew: (situation: string, options: number, path: number[]) => boolean,
): Promise<{ choices: number[]; violations: string[]; trace: string[] } | undefined> {
  const world = new World(1, startAt);
  world.traced = true;
  const path: number[] = [];
  let isOver = false;
  let isCalm = false;
  let killsLeft = kills;
  let jumpsLeft = jumps;
  let faultsLeft = faults;
  /** Whoever went on after standing still: whether they find their time limits over, or the answers come first. */
  let limitsFirst = false;
  const nextOfEach = (ready: Happening[]): Happening[] => {
    const isLater = (one: Happening, other: Happening) => {
      const byKind = limitsFirst
        ? Number(one.what !== "timer") - Number(other.what !== "timer")
        : 0;
      return byKind || one.at - other.at || one.order - other.order;
    };
    const groups = Map.groupBy(ready, ({ invocation, what }) => invocation ?? what);
    return [...groups.values()].flatMap((own) => own.toSorted(isLater)[0] ?? []);
  };

  const memory = createMemoryLedger();
  const placed: string[] = [];
  const requests: string[] = [];
  const keys = new Set<string>();
  const messages = [1, 2].map(() => ({ acknowledged: false }));

  /** One of so many; undefined where this has been seen before, and need not be gone on with. */
  const choose = (options: number, situation: () => string): number => {
    if (isCalm || isOver) return 0;
    const chosen = choices[path.length];
    if (chosen === undefined && !isNew(situation(), options, [...path])) isOver = true;
    path.push(chosen ?? 0);
    return chosen ?? 0;
  };
  const situationOf = async () => {
    const row = (await memory.read([call.id])).get(call.id);
    return JSON.stringify([row, placed, requests]);
  };
  let world0 = "";

  const step = async <Result>(what: string, effect: () => Promise<Result>): Promise<Result> => {
    await world.wait(0, what);
    const result = await effect();
    world0 = await situationOf();
    world.note(`${what} ${JSON.stringify(result instanceof Map ? [...result.keys()] : result)}`);
    world.tell(JSON.stringify(result instanceof Map ? [...result.values()] : result));
    return result;
  };
  /** A write's answer may be late, or come after its time limit. */
  const write = async <Result>(what: string, effect: () => Promise<Result>): Promise<Result> => {
    const fault = faultsLeft > 0 ? choose(3, () => `${world0} ${situation()} ${what}`) : 0;
    if (fault > 0) faultsLeft -= 1;
    const fail = () => {
      world.tell(`${what} fails`);
      throw new OutsideError(`${what} failed`);
    };
    if (fault === 1) await step(what, async () => fail());
    const result = await step(what, effect);
    await world.wait(0, `${what} answers`);
    if (fault === 2) fail();
    return result;
  };
  const ledger: DialerDeps["ledger"] = {
    ...memory,
    read: (ids) => step("read", () => memory.read(ids)),
    claim: (claims) => write("claim", () => memory.claim(claims)),
    settle: (settlements) => write("settle", () => memory.settle(settlements)),
    defer: (writes) => write("defer", () => memory.defer(writes)),
  };
  const fates: [boolean, DialOutcome][] = [
    [true, { kind: "placed" }],
    [true, { kind: "unknown", code: "http_500" }],
    [false, { kind: "unknown", code: "http_500" }],
    [false, { kind: "not_placed", code: "rate_limited", retryAfterSeconds: 1 }],
  ];
  const providerOf = (route: Route) => ({
    async dial({ attempt }: { attempt: number }): Promise<DialOutcome> {
      const isIdempotent = "idempotent" in route && route.idempotent === true;
      const key = route.type === "telnyx" ? `${call.id}-${attempt}` : call.id;
      const isRepeat = isIdempotent && keys.has(key);
      const fate = choose(isRepeat ? 2 : fates.length, () => `${world0} ${situation()} fate`);
      const [isPlaced, outcome] = fates[fate] ?? [true, { kind: "placed" }];
      requests.push(outcome.kind);
      if (isPlaced && !isRepeat) placed.push(`attempt ${attempt}`);
      if (isPlaced) keys.add(key);
      world0 = await situationOf();
      world.note(`request ${attempt}: ${outcome.kind}, placed: ${isPlaced && !isRepeat}`);
      world.tell(`${outcome.kind} ${isPlaced}`);
      await world.wait(0, "a provider answers");
      return outcome;
    },
    ...(route.type === "vapi"
      ? {
          lookUp: async () =>
            step("look-up", async () =>
              placed.length > 0 ? { by: "id" as const, providerCallId: "found" } : undefined,
            ),
        }
      : {}),
  });
  const log: DialerDeps["log"] = (level, event, fields) =>
    world.note(`log ${level} ${event} ${fields.reason ?? ""}`);
  let tokens = 0;
  const token = () => `token ${++tokens}`;
  const deps: DialerDeps = {
    queue: { send: async () => undefined, sendMany: async (all) => all.length },
    ledger,
    settings:
      settings === undefined ? { problem: "no plan" } : { value: { ...settings, providerOf } },
    clock: {
      now: world.now,
      sleep: (ms) => (ms <= 0 ? Promise.resolve() : world.wait(ms, "sleep")),
    },
    random: { token, fraction: () => 0 },
    lanes: 2,
    log,
  };
  const deliver = async (
    name: string,
    message: Message,
    acknowledged: () => void = () => undefined,
  ) => {
    const delivered = { attempt: 1, large: false, open: async () => structuredClone(message) };
    const deadline = world.now() + lifeMs;
    const work = () => handleDelivery([delivered], deps, deadline);
    const [disposition] = (await world.invoke(name, work, 100 * lifeMs)) ?? [];
    if (disposition === "acknowledge") acknowledged();
    world.note(`${name} ${JSON.stringify(disposition)}`);
  };
  const ours: Call = { ...call, request: { ...call.request, agent_id: agent } };
  const dialer = (copy: (typeof messages)[number]) =>
    deliver("dialer", { kind: "call", call: ours }, () => (copy.acknowledged = true));
  const begin = (what: string, happen: () => void) => world.after(0, what, happen);
  for (const copy of messages) begin("dialer", () => void dialer(copy));
  begin("sweep", () => void deliver("sweep", { kind: "sweep" }));

  let happenings: readonly Happening[] = [];
  /** All that what may come next depends on. */
  const situation = () =>
    JSON.stringify([
      world0,
      world.now(),
      killsLeft,
      jumpsLeft,
      faultsLeft,
      limitsFirst,
      messages.filter(({ acknowledged }) => acknowledged).length,
      // Which of the two dialers is where makes no difference.
      world
        .running()
        .map((one) =>
          JSON.stringify([
            one.told,
            happenings.filter((it) => it.invocation === one).map(({ what, at }) => [what, at]),
          ]),
        )
        .toSorted(),
      happenings.filter(({ invocation }) => invocation === undefined).map(({ what }) => what),
    ]);
  const byTheClock = world.pick;
  world.pick = (all) => {
    if (isOver) return undefined;
    if (isCalm) return byTheClock(all);
    happenings = all.filter(({ what }) => !what.includes("deadline"));
    const ready = nextOfEach(happenings.filter(({ at }) => at <= world.now()));
    const first = ready[0];
    if (first === undefined && world.running().length === 0) return undefined;
    const killable = killsLeft > 0 ? world.running() : [];
    const jumping = jumpsLeft > 0 ? [false, true] : [];
    const waits = first === undefined ? happenings : []; // nobody can do anything: time passes
    const options = ready.length + killable.length + jumping.length;
    if (options === 0) return byTheClock(waits);
    const chosen = choose(options, situation);
    if (isOver) return undefined;
    if (chosen < ready.length) return ready[chosen];
    const killed = killable[chosen - ready.length];
    if (killed !== undefined) {
      killsLeft -= 1;
      world.kill(killed);
      return world.pick(all.filter(({ invocation }) => invocation !== killed));
    }
    jumpsLeft -= 1;
    limitsFirst = jumping[chosen - ready.length - killable.length] === true;
    world.pass(jumpMs);
    return world.pick(all);
  };
  await world.run(Infinity);
  if (isOver) return undefined;

  isCalm = true;
  const left = messages.filter(({ acknowledged }) => !acknowledged).length;
  const ended = `${world0} ${left} ${world.now()}`;
  if (endings.has(ended)) return undefined;
  endings.add(ended);
  for (let round = 0; round < calmRounds; round++) {
    world.pass(61_000);
    const copy = messages.find(({ acknowledged }) => !acknowledged);
    if (copy !== undefined) void dialer(copy);
    await world.run(world.now() + 1000);
    void deliver("sweep", { kind: "sweep" });
    await world.run(world.now() + 1000);
    void deliver("dialer", { kind: "due", id: call.id });
    await world.run(world.now() + 60_000);
  }
  const row = (await memory.read([call.id])).get(call.id);
  const violations: string[] = [];
  if (placed.length > 1) violations.push(`placed ${placed.length} times`);
  if (row === undefined) violations.push("lost");
  else if (row.state === "PLACED" && placed.length === 0) violations.push("PLACED, and never was");
  else if (row.state !== "PLACED" && row.state !== "PARKED") violations.push(`still ${row.state}`);
  else if (row.state === "PARKED" && row.call === null) violations.push("parked without its call");
  return { choices: path, violations, trace: world.trace };
}
