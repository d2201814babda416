import { consumeCalls, sweep } from "#test/support/entries.ts";
import { readRows } from "#test/support/reads.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import { dialerParts } from "../support/dialer-parts.ts";
import { createMemoryDocuments } from "../support/memory-documents.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import { rowIn } from "../support/rows.ts";
import {
  type MessageText,
  type CallsMessage,
  toCalls,
  type Message,
} from "#shared/ports/call-messages.ts";
import { readDialerSettings } from "../support/plans.ts";
import { OutsideError } from "./outside.ts";
import { environment } from "./plan.ts";
import type { Exploration } from "./explorations.ts";
import { renamed, toTell } from "./situation.ts";
import { type Happening, World } from "./world.ts";

/** Longer than a claim's age and deadline, and than the review time of an unknown outcome. */
const jumpMs = 301_000;
const startAt = Date.parse("2026-10-22T12:00:00Z");
const lifeMs = 15 * 60_000;
/** Rounds of remaining sweeps and deliveries at the end, a minute apart and without faults. */
const calmRounds = 12;

const settingsOf = (capped: boolean) => {
  const parsed = readDialerSettings(
    environment({ hours: false, capped, expireHours: 30, results: false, receivers: [] }),
    {
      bundledPlan: undefined,
      connect: () => ({
        providerOf: () => {
          throw new Error("each order of things has a provider of its own");
        },
        postEvent: () => Promise.reject(new Error("the plan has no receiver")),
        planRead: { hash: "plan", readAt: 0 },
      }),
    },
    () => undefined,
  );
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed.value;
};
const [uncappedSettings, cappedSettings] = [settingsOf(false), settingsOf(true)];

const requestId = createRequestId(startAt, "1".repeat(32));
const number = "+12125550100";

export interface Explored {
  /** Number of different situations reached. */
  situations: number;
  endings: number;
  /** The choices that led to the first ending that breaks a promise, and the broken promises. */
  broken?: { choices: number[]; violations: string[]; trace: string[] };
}

/**
 * Tries every order of the steps of a sweep and of two dialers that were both delivered one call. Each step
 * of one that others can see is taken before or after each step of the others, with jumps in time, killed
 * functions, and each possible fate of a request. A situation reached before is not continued again.
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

/** Plays one order: the given choices, then the first option of each further choice. */
async function play(
  { agent, capped = false, isRow = false, kills, jumps, faults }: Exploration,
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
  /** After standing still, a function finds either its time limits expired (true) or the answers first (false). */
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

  const stored = new Map<string, { id: string; version: string; json: string }>();
  const memory = createMemoryLedger(stored);
  let versions = 0;
  const version = () => `v#${++versions};`;
  const kept = createMemoryDocuments(world.now, version);
  const settings = capped ? cappedSettings : uncappedSettings;
  const { numberHash } = hashNumber(number, settings.hashKeys.current);
  const capKey = { kind: "cap", key: numberHash } as const;
  if (capped) {
    const entries = [{ call: "of this morning", claim: "", at: startAt - 3_600_000 }];
    const next = { ...capKey, version: version(), value: { entries }, expiresAt: null };
    await kept.write([{ next, seen: null }]);
  }
  const requestOf = (index: number): CallsMessage => {
    const request = { phone_number: number, agent_id: agent, timezone: "UTC" };
    const calls = [{ index, request }];
    return { kind: "calls", requestId, client: "crm", acceptedAt: startAt, calls };
  };
  const routed = findAgentRoute(agent, settings.plan);
  if (routed === undefined) throw new Error("the agent has no route");
  const account = accountNameOf(routed);
  const dispatchOf = (rows: readonly string[]): Message => ({
    kind: "dispatch",
    rows: rows.map((id) => ({ id, account })),
  });
  // Fresh calls of an account that answers quickly are dialed by their own delivery.
  const quick = { kind: "account" as const, key: account, value: { quick: true, busy: false } };
  await kept.write([{ next: { ...quick, version: version(), expiresAt: null }, seen: null }]);
  if (isRow) {
    const rows = toCalls(requestOf(0)).map((call) => ({
      ...rowIn("WAITING", call, { at: startAt, dueAt: startAt, reason: "turn" }),
      version: version(),
      numberHash,
    }));
    await memory.write(rows.map((next) => ({ next, seen: null })));
  }
  /** Settlements that the ledger did not accept at the time. */
  const outcomes: Message[] = [];
  const placed: string[] = [];
  const requests: string[] = [];
  const keys = new Set<string>();
  const messages = [0, 1].map((n) => ({ index: capped ? n : 0, acknowledged: false }));
  const ids = [...new Set(messages.map(({ index }) => toCallId(requestId, index)))];

  /** Chooses one of the options. In a situation that was seen before, the run ends instead. */
  const choose = (options: number, situation: () => string): number => {
    if (isCalm || isOver) return 0;
    const chosen = choices[path.length];
    if (chosen === undefined && !isNew(situation(), options, [...path])) isOver = true;
    path.push(chosen ?? 0);
    return chosen ?? 0;
  };
  const situationOf = async () => {
    const caps = capped ? (await kept.read([capKey])).get("cap", numberHash)?.value : undefined;
    const rows = ids.map((id) => stored.get(id));
    return JSON.stringify([rows, caps, placed, requests, outcomes]);
  };
  let world0 = "";

  const step = async <Result>(what: string, effect: () => Promise<Result>): Promise<Result> => {
    await world.wait(0, what);
    const result = await effect();
    world0 = await situationOf();
    const told = JSON.stringify(toTell(result));
    world.note(`${what} ${told}`);
    world.tell(told);
    return result;
  };
  /** The write's answer may be late, or come after its time limit. */
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
    read: (wanted) => step("read", () => memory.read(wanted)),
    due: (query) => step("due", () => memory.due(query)),
    dialing: (limit) => step("dialing", () => memory.dialing(limit)),
    write: (changes) => write("write", () => memory.write(changes)),
  };
  // Caps are the only documents that other functions share here.
  const documents: DialerDeps["documents"] = {
    ...kept,
    async read(wanted) {
      if (wanted.length !== 1 || wanted[0]?.kind !== "cap") return kept.read(wanted);
      const read = await step("read cap", () => kept.read(wanted));
      world.tell(JSON.stringify(read.get("cap", numberHash)));
      return read;
    },
    write: (changes) =>
      changes[0]?.next.kind === "cap"
        ? write("write cap", () => kept.write(changes))
        : kept.write(changes),
  };
  const fates: [boolean, DialOutcome][] = [
    [true, { kind: "placed" }],
    [true, { kind: "unknown", code: "http_500" }],
    [false, { kind: "unknown", code: "http_500" }],
    [false, { kind: "not_placed", code: "rate_limited", retryAfterSeconds: 1 }],
  ];
  const providerOf = (route: Route) => ({
    async dial({
      call: { id },
      attempt,
    }: {
      call: { id: string };
      attempt: number;
    }): Promise<DialOutcome> {
      const isIdempotent = "idempotent" in route && route.idempotent === true;
      const key = id;
      const isRepeat = isIdempotent && keys.has(key);
      const fate = choose(isRepeat ? 2 : fates.length, () => `${world0} ${situation()} fate`);
      const [isPlaced, outcome] = fates[fate] ?? [true, { kind: "placed" }];
      requests.push(outcome.kind);
      if (isPlaced && !isRepeat) placed.push(id);
      if (isPlaced) keys.add(key);
      world0 = await situationOf();
      world.note(`request ${attempt}: ${outcome.kind}, placed: ${isPlaced && !isRepeat}`);
      world.tell(`${outcome.kind} ${isPlaced}`);
      await world.wait(0, "a provider answers");
      return outcome;
    },
    ...(route.provider === "vapi"
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
  const sent = (message: Message | MessageText) => {
    if ("kind" in message && message.kind === "outcome") outcomes.push(message);
  };
  const depsOf = (): DialerDeps => ({
    ...dialerParts(),
    queue: {
      send: async (message) => sent(message),
      sendMany: async (all) => {
        for (const { message } of all) sent(message);
        return all.length;
      },
    },
    ledger,
    documents,
    settings: { ...settings, providerOf },
    clock: {
      now: world.now,
      sleep: (ms) => (ms <= 0 ? Promise.resolve() : world.wait(ms, "sleep")),
    },
    random: { version, fraction: () => 0 },
    concurrency: 2,
    log,
  });
  const deliver = async (message: Message, acknowledged: () => void = () => undefined) => {
    const open = async () => JSON.stringify(message);
    const delivered = { attempt: 1, id: "message", open };
    const deadline = world.now() + lifeMs;
    const work = () => consumeCalls([delivered], depsOf(), deadline);
    const [answer] = (await world.invoke("dialer", work, 100 * lifeMs)) ?? [];
    if (answer === "ack") acknowledged();
    world.note(`dialer ${JSON.stringify(answer)}`);
  };
  const sweepOnce = () =>
    world.invoke("sweep", () => sweep(depsOf(), world.now() + lifeMs), 100 * lifeMs);
  const dialer = (copy: (typeof messages)[number]) =>
    deliver(isRow ? dispatchOf(ids) : requestOf(copy.index), () => (copy.acknowledged = true));
  const begin = (what: string, happen: () => void) => world.after(0, what, happen);
  for (const copy of messages) begin("dialer", () => void dialer(copy));
  begin("sweep", () => void sweepOnce());

  let happenings: readonly Happening[] = [];
  /** Returns everything on which the following steps depend. */
  const situation = () =>
    renamed([
      world0,
      world.now(),
      killsLeft,
      jumpsLeft,
      faultsLeft,
      limitsFirst,
      messages.filter(({ acknowledged }) => acknowledged).length,
      // The two dialers are interchangeable.
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
    const waits = first === undefined ? happenings : []; // no function can proceed, so time passes
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
    void sweepOnce();
    await world.run(world.now() + 1000);
    const outcome = outcomes.shift();
    if (outcome !== undefined) void deliver(outcome);
    await world.run(world.now() + 1000);
    void deliver(dispatchOf(ids));
    await world.run(world.now() + 60_000);
  }
  const rows = await readRows(memory, ids);
  const violations: string[] = [];
  // Only one of two calls to one person may go.
  if (placed.length > 1) violations.push(`placed ${placed.length} times`);
  for (const id of ids) {
    const row = rows.get(id);
    const isPlaced = placed.includes(id);
    if (row === undefined) violations.push("lost");
    else if (row.state === "PLACED") {
      if (!isPlaced) violations.push("PLACED, and never was");
    } else if (capped && !isPlaced && row.reason === "max_calls") continue;
    else if (row.state !== "NEEDS_REVIEW") violations.push(`still ${row.state} ${row.reason}`);
    else if (row.request === null) violations.push("to be reviewed without its call");
  }
  return { choices: path, violations, trace: world.trace };
}
