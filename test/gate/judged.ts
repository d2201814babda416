import * as z from "#shared/lib/zod.ts";
import { UnreadableError } from "#shared/ports/unreadable.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import type { HashKeys } from "#shared/telephony/phone-number.ts";
import { type Chance, createChance } from "./random.ts";
import { randomCall, randomRow } from "./random-calls.ts";
import { randomDocuments, readOf } from "./random-documents.ts";
import { randomPlan, routedAgents } from "./random-plan.ts";
import { accountIn, routeIn, withoutPool } from "./routes.ts";

/** Settings of one of the two sides, made from the same plan. */
interface SideSettings {
  agents: Record<string, Route>;
  settings: object;
}

/** A call about which both sides are asked, with all that they need. Their answers are compared as JSON. */
export interface Asked {
  delivered: Call | undefined;
  call: Call;
  row: CallRow | undefined;
  documents: ReturnType<typeof readOf>;
  clock: { now(): number; sleep(ms: number): Promise<void> };
  ahead: ReadonlyMap<string, number>;
  concurrency: number;
}

/** A call that was admitted, about which both sides are asked again. */
export interface AskedLater extends Asked {
  dial: {
    kind: "dial";
    call: Call;
    row: CallRow | undefined;
    route: Route;
    dialAt: number;
    permission?: { checks: []; validUntil: number; ms: number };
  };
  deadline: number;
  stopped: ReadonlySet<string>;
  isUnread: boolean;
  claim: { row: CallRow; version: string; startedAt: number };
  laterMs: number;
}

/** The rules of one side. */
export interface Side {
  parse(plan: object, hashKeys: HashKeys): SideSettings;
  decide(asked: Asked, settings: object): unknown;
  decideFirst(asked: Asked, settings: object): unknown;
  beforeClaim(asked: AskedLater, settings: object): Promise<unknown>;
  orders(asked: AskedLater, settings: object): unknown;
  byClock(asked: AskedLater, settings: object): unknown;
  acceptance(asked: Asked, settings: object): unknown;
}

/** Plans, each of which serves some cases, as parsing one takes as long as many decisions. */
const casesPerPlan = 50;

/** A difference between the two sides, in one case of a seed. */
export interface Difference {
  case: string;
  question: string;
  was: string;
  is: string;
}

const keyOf = (digit: string) => digit.repeat(64);

/** Asks both sides the same about random calls, and returns the first difference, with the counts of kinds of answers. */
export async function compare(
  seed: number,
  cases: number,
  { was, is }: { was: Side; is: Side },
): Promise<{ difference?: Difference; answers: Map<string, number> }> {
  const answers = new Map<string, number>();
  let sides: { hashKeys: HashKeys; before: SideSettings; after: SideSettings } | undefined;
  for (let index = 0; index < cases; index++) {
    const chance = createChance(seed * 1_000_003 + index);
    if (sides === undefined || index % casesPerPlan === 0) {
      const plan = randomPlan(chance, { isOpen: chance.is(0.2) });
      const hashKeys = chance.is(0.4)
        ? { current: keyOf("5"), former: keyOf("6") }
        : { current: keyOf("5") };
      sides = {
        hashKeys,
        before: was.parse(plan, hashKeys),
        after: is.parse(plan, hashKeys),
      };
    }
    const { before, after } = sides;
    for (const ask of await questionsOf(chance, sides)) {
      const [one, other] = [await answerOf(ask.of, was, before), await answerOf(ask.of, is, after)];
      const kind = `${ask.question} ${kindOf(one)}`;
      answers.set(kind, (answers.get(kind) ?? 0) + 1);
      if (one === other) continue;
      const name = `seed ${seed}, case ${index}`;
      return { answers, difference: { case: name, question: ask.question, was: one, is: other } };
    }
  }
  return { answers };
}

type Ask = (side: Side, settings: object) => unknown;

async function answerOf(ask: Ask, side: Side, { settings }: SideSettings): Promise<string> {
  try {
    const answer = JSON.stringify(await ask(side, settings)) ?? "undefined";
    // Calls of rows had no mode then, and two of a route's fields had other names.
    return answer
      .replaceAll(',"mode":"live"', "")
      .replaceAll(/"(?:provider|type)":/g, '"account":');
  } catch (error) {
    // Then, the schema's own error said that a document cannot be read.
    if (error instanceof UnreadableError || error instanceof z.ZodError) return "throws unreadable";
    return error instanceof Error ? `throws ${error.name}` : "throws";
  }
}

/** Returns what an answer is: its kind or state, and its reason. */
function kindOf(answer: string): string {
  const words = /"(?:kind|state)":"(\w+)"/.exec(answer)?.[1] ?? answer.slice(0, 20);
  const reason = /"(?:reason|because)":"([\w]+)/.exec(answer)?.[1];
  return reason === undefined ? words : `${words} ${reason}`;
}

async function questionsOf(
  chance: Chance,
  { hashKeys, before }: { hashKeys: HashKeys; before: SideSettings },
): Promise<{ question: string; of: Ask }[]> {
  const { is, one, below } = chance;
  const now = Date.UTC(2026, 5, 1 + below(3), below(24), below(60), below(60));
  const call = randomCall(chance, { now, index: 0, isFresh: is(0.3) });
  const planned = routeIn(before.agents, call);
  const others = routedAgents.flatMap((name) => before.agents[name] ?? []);
  const along = (is(0.7) ? planned : undefined) ?? one([planned, ...others]);
  const fixed = along === undefined ? planned : withoutPool(along);
  const row = randomRow(chance, { call, route: fixed, now, hashKeys });
  const obstacle = one([0, 0, 0.02, 0.08, 0.4]);
  const trouble = { obstacle, unreadable: is(0.2) ? 0.05 : 0 };
  const world = { calls: [call], routes: planned === undefined ? [] : [planned], hashKeys };
  const stored = randomDocuments(chance, trouble, { ...world, now });
  const asked: Asked = {
    delivered: is(0.9) ? call : undefined,
    call,
    row,
    documents: readOf(stored, is(obstacle / 4)),
    clock: clockAt(now),
    ahead: new Map(planned === undefined ? [] : [[accountIn(planned), below(6)]]),
    concurrency: below(10, 1),
  };
  const later = laterOf(asked, { fixed, now, world, trouble }, chance);
  return [
    { question: "acceptance", of: (side, settings) => side.acceptance(asked, settings) },
    { question: "decide", of: (side, settings) => side.decide(asked, settings) },
    { question: "first", of: (side, settings) => side.decideFirst(asked, settings) },
    ...(later === undefined
      ? []
      : [
          { question: "before", of: (side: Side, of: object) => side.beforeClaim(later, of) },
          { question: "orders", of: (side: Side, of: object) => side.orders(later, of) },
          { question: "clock", of: (side: Side, of: object) => side.byClock(later, of) },
        ]),
  ];
}

/** Returns the same call some time later, on its way to its request; undefined if it has no route. */
function laterOf(
  asked: Asked,
  {
    fixed,
    now,
    world,
    trouble,
  }: {
    fixed: Route | undefined;
    now: number;
    world: Omit<Parameters<typeof randomDocuments>[2], "now">;
    trouble: Parameters<typeof randomDocuments>[1];
  },
  chance: Chance,
): AskedLater | undefined {
  const { is, one } = chance;
  const { call, row } = asked;
  if (
    fixed === undefined ||
    (row !== undefined && row.state !== "WAITING" && row.state !== "UNKNOWN")
  ) {
    return undefined;
  }
  const at = now + one([0, 1_000, 4_000, 20_000, minuteMs, 6 * hourMs]);
  const startedAt = at - one([0, 300, 9_999, 10_000, 10_001, 14_000, -900, -1_100]);
  const permission = { checks: [] as [], validUntil: at + one([-1, 0, 1, 5_000]), ms: 3 };
  const base = row ?? undefined;
  const claimRow = {
    ...emptyRow(call),
    ...base,
    route: fixed,
    claimedAt: startedAt - one([0, 0, 200]),
    resent: row?.state === "UNKNOWN",
  };
  return {
    ...asked,
    documents: readOf(
      randomDocuments(chance, trouble, { ...world, now: at }),
      is(trouble.obstacle / 4),
    ),
    clock: clockAt(at),
    dial: {
      kind: "dial",
      call,
      row,
      route: fixed,
      dialAt: Math.max(now, row?.dueAt ?? 0),
      ...(is(0.5) ? { permission } : {}),
    },
    deadline: at + one([20_000, minuteMs, 2 * minuteMs, hourMs]),
    stopped: new Set(is(0.1) ? [backlogIn(call)] : []),
    isUnread: is(0.1),
    claim: { row: claimRow, version: "v9", startedAt },
    laterMs: one([0, 0, 15_000]),
  };
}

function emptyRow({ id, client, mode, request, acceptedAt }: Call): CallRow {
  const { agent_id: agentId } = request;
  return Object({ id, client, mode, agentId, acceptedAt, claims: ["v9"], history: [], events: [] });
}

function clockAt(now: number): Asked["clock"] {
  return { now: () => now, sleep: async () => undefined };
}

function backlogIn({ client, request: { agent_id } }: Call): string {
  return JSON.stringify([client, agent_id]);
}
