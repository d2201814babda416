import { createRouteTable } from "../support/plans.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { withoutFollowing } from "./chain-rules.ts";
import type { Answer, PostedMark } from "./clients.ts";
import type { DoneAction, SeenRow } from "./operator-acts.ts";
import { numberInNames, tokens, unnamedAgent } from "./plan.ts";
import type { Placement, Requested } from "./placement.ts";
import { people, type Scenario } from "./scenario.ts";

/** The events of a run against which the promises are checked. */
export interface Happened {
  plan: DialPlan;
  scenario: Scenario;
  posted: readonly PostedMark[];
  /** All calls that were ever on the queue. */
  calls: readonly Call[];
  /** The first call of each later try. */
  chainOf: ReadonlyMap<string, string>;
  requests: readonly Requested[];
  placements: readonly Placement[];
  /** The rows as an operator sees them at the end. */
  rows: readonly SeenRow[];
  acts: readonly DoneAction[];
  /** Ids of calls that an operator took for not placed, though they were. */
  errors: readonly string[];
  answers: readonly Answer[];
  events: readonly { event: string; call_id?: string; state?: string }[];
  /** Values that no log line and no answer may contain. */
  secrets: readonly string[];
}

/** Maximum time until an operator's order takes effect. */
const orderMsMax = 30_000;
/** Maximum delay of a request after its permit's time. */
const momentMsMax = 50;
/** Maximum time from a claim to its request: a call counts from its claim on. */
const capSlackMs = 15_000;
const dayMs = 86_400_000;

/** Returns a description of every broken promise; empty if all were kept. */
export function violationsOf(happened: Happened): string[] {
  const { clocks } = happened.scenario;
  // Clocks that differ by d seconds add d seconds' worth to a pace; by one that is an hour off it is another hour.
  const byClock = [
    ...(clocks === "stepping" ? [] : [...callsAtNight(happened), ...callsTooOften(happened)]),
    ...(clocks === "same" ? callsTooFast(happened) : []),
  ];
  // Rows and events that a restore took away are missed by the other checks.
  if (happened.scenario.restore !== undefined) {
    return [
      ...callsTwice(happened),
      ...callsOpen(happened),
      ...byClock.filter((one) => !one.startsWith("too often")),
      ...callsAgainstControls(happened),
      ...personsKept(happened),
      ...callsWithoutToken(happened),
      ...leaks(happened),
    ];
  }
  return [
    ...callsTwice(happened),
    ...callsLost(happened),
    ...lateSuccesses(happened),
    ...byClock,
    ...callsAgainstControls(happened),
    ...personsKept(happened),
    ...callsWithoutToken(happened),
    ...leaks(happened),
  ];
}

/** Time by which clocks of processes may differ; not known of clocks that are an hour off at times. */
const clockMsMax = { same: 0, apart: 5_000, stepping: Infinity };

/** True if an erasure covers a call, whichever process has accepted it. */
function isErasedBy({ act, target, begun }: DoneAction, call: Call, { clocks }: Scenario): boolean {
  if (act !== "erase" || call.request.phone_number !== target) return false;
  return call.acceptedAt <= begun - clockMsMax[clocks];
}

/** Checks that nothing is left of who was erased, whatever came back with a restore. */
function personsKept({ acts, calls, rows, scenario }: Happened): string[] {
  const shown = new Map(rows.map((row) => [row.id, row]));
  return calls.flatMap((call) => {
    const row = shown.get(call.id);
    if (row?.revealed?.phone_number !== call.request.phone_number) return [];
    const isErased = acts.some((done) => isErasedBy(done, call, scenario));
    return isErased ? [`kept: the person of ${call.id}, which is ${row.state}`] : [];
  });
}

function callsTwice({ placements, errors, posted, scenario }: Happened): string[] {
  const broken: string[] = [];
  const agentOf = new Map(posted.map(({ mark, agent }) => [mark, agent]));
  const marks = new Map(placements.map(({ id, mark }) => [id, mark]));
  for (const what of ["id", "mark"] as const) {
    const counts = Map.groupBy(placements, (one) => one[what]);
    for (const [name, all] of counts) {
      // An operator's wrong decision may lead to one more call to a person.
      const words = new Set(errors.filter((id) => marks.get(id) === name)).size;
      const agent = agentOf.get(name);
      const isByMark = what === "mark" && agent !== undefined;
      const own = isByMark ? withoutFollowing(all, agent, scenario) : all;
      if (own.length > 1 + words) broken.push(`twice: ${name} was placed ${all.length} times`);
    }
  }
  return broken;
}

/**
 * Checks that a success reported to a dialer, however late, stands in the row, unless ledger and queue both
 * refused it.
 */
function lateSuccesses({ events, rows }: Happened): string[] {
  const idsOf = (is: (event: Happened["events"][number]) => boolean) =>
    new Set(events.filter(is).map(({ call_id = "" }) => call_id));
  const lost = idsOf(({ event }) => event === "queue.unreachable");
  const placed = idsOf(({ event, state }) => event.startsWith("call.") && state === "PLACED");
  return rows
    .filter(({ id, state }) => placed.has(id) && !lost.has(id) && state !== "PLACED")
    .map(({ id, state }) => `lost: the success of ${id}, which is ${state}`);
}

/** Final states of a call: whether it may have been placed, and whether the operator sees its request. */
const ends: Record<string, { placed: boolean | undefined; revealed: boolean }> = {
  PLACED: { placed: true, revealed: false },
  REJECTED: { placed: false, revealed: true },
  EXPIRED: { placed: false, revealed: true },
  CANCELLED: { placed: false, revealed: true },
  REDIALED: { placed: false, revealed: true },
  NEEDS_REVIEW: { placed: undefined, revealed: true },
};

/** Checks that every call that has a row has ended, and that none is PLACED that was not. */
function callsOpen({ rows, placements, scenario }: Happened): string[] {
  const placed = new Set(placements.map(({ id }) => id));
  // A function that stands still across the restore may write a row into a backlog that is no longer known.
  const mayBeOpen = scenario.weather.freeze > 0;
  return rows.flatMap(({ id, state }) => {
    if (ends[state] === undefined && !mayBeOpen) return [`lost: ${id} is still ${state}`];
    return state === "PLACED" && !placed.has(id) ? [`lost: ${id} is PLACED and was not`] : [];
  });
}

function callsLost({ posted, calls, rows, placements, errors, acts }: Happened): string[] {
  const broken: string[] = [];
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  if (rowOf.size < rows.length) broken.push("lost: an operator sees a call in two states");
  const placed = new Map(placements.map(({ id, mark }) => [id, mark]));
  const idsOf = new Map<string, Set<string>>();
  for (const { id, ancestors, request } of calls) {
    const mark = request.context?.["mark"] ?? "";
    if (ancestors === undefined) idsOf.set(mark, (idsOf.get(mark) ?? new Set()).add(id));
  }
  const judge = (id: string, { mark, number }: Pick<PostedMark, "mark" | "number">): void => {
    const row = rowOf.get(id);
    const end = row && ends[row.state];
    if (row === undefined || end === undefined) {
      broken.push(`lost: ${id} is ${row === undefined ? "nowhere" : `still ${row.state}`}`);
      return;
    }
    const isMistaken = errors.includes(id);
    if (end.placed !== undefined && end.placed !== placed.has(id) && !isMistaken) {
      broken.push(`lost: ${id} is ${row.state} ${row.reason}, placed: ${placed.has(id)}`);
    }
    if (row.state === "PLACED" && placed.get(id) !== mark) {
      broken.push(`lost: ${id} is another call than ${mark}`);
    }
    if (!end.revealed) return;
    const { revealed, reason } = row;
    if (acts.some(({ act, target }) => act === "erase" && target === number)) return;
    if (reason === "" || revealed?.phone_number !== number || revealed.mark !== mark) {
      broken.push(`lost: of ${id}, ${row.state} ${reason}, the operator sees too little`);
    }
    if (row.redialed_as !== null) judge(row.redialed_as, { mark, number });
  };
  for (const one of posted) {
    const ids = idsOf.get(one.mark) ?? new Set();
    if (ids.size > 1) broken.push(`twice: ${one.mark} has ${ids.size} ids`);
    if (one.isKeyRefused === true) broken.push(`lost: ${one.mark} was refused for its key`);
    if (one.status !== "accepted") continue;
    if (ids.size === 0) broken.push(`lost: ${one.mark} was answered 201 and is nowhere`);
    for (const id of ids) judge(id, one);
  }
  return broken;
}

/** Calling hours of the plan, implemented independently of the code under test. */
function isOpen({ agent, zone }: PostedMark, at: number, { hours }: Scenario): boolean {
  const offset = /^([+-])(\d\d):(\d\d)$/.exec(zone);
  const offsetMinutes = offset
    ? Number(`${offset[1]}1`) * (Number(offset[2]) * 60 + Number(offset[3]))
    : 0;
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: offset ? "UTC" : zone,
    hourCycle: "h23",
    weekday: "short",
    hour: "numeric",
    minute: "numeric",
  }).formatToParts(at + offsetMinutes * 60_000);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? "";
  const hour = Number(part("hour")) + Number(part("minute")) / 60;
  if (agent === "office") {
    const isWeekend = ["Sat", "Sun"].includes(part("weekday"));
    return !isWeekend && ((hour >= 9 && hour < 12) || (hour >= 13 && hour < 17));
  }
  return !hours || (hour >= 9 && hour < 20);
}

function callsAtNight({ posted, placements, scenario }: Happened): string[] {
  const markOf = new Map(posted.map((one) => [one.mark, one]));
  return placements.flatMap(({ id, mark, leftAt, placedAt, timeoutMs }) => {
    const who = markOf.get(mark);
    // A call placed after the provider's time limit cannot be prevented, so the time of the request counts.
    const rang = placedAt <= leftAt + timeoutMs ? placedAt : leftAt;
    if (who !== undefined && isOpen(who, rang, scenario)) return [];
    return [`at night: ${id} of ${mark} rang at ${new Date(rang).toISOString()}`];
  });
}

function callsTooFast({ requests, plan }: Happened): string[] {
  return [...Map.groupBy(requests, ({ account }) => account)].flatMap(([account, all]) => {
    const pace = all[0] && createRouteTable(plan).account(all[0].route).pace;
    if (pace === undefined) return [];
    const times = all.map(({ at }) => at).toSorted((a, b) => a - b);
    let arrivalMs = -Infinity;
    const intervalMs = pace.intervalUs / 1000;
    // The generic cell rate algorithm, implemented again as a check: a request before its time is too fast.
    const early = times.filter((at) => {
      const tooSoon = at + momentMsMax < arrivalMs - (pace.burst - 1) * intervalMs;
      arrivalMs = Math.max(arrivalMs, at) + intervalMs;
      return tooSoon;
    });
    return early.map((at) => `too fast: ${account} at ${new Date(at).toISOString()}`);
  });
}

function callsTooOften({ placements, plan }: Happened): string[] {
  const { maxCalls } = plan;
  if (maxCalls === undefined) return [];
  return [...Map.groupBy(placements, ({ number }) => number)].flatMap(([number, all]) => {
    const sorted = all.toSorted((a, b) => a.at - b.at);
    const person = people.findIndex((one) => one.number === number);
    return sorted.flatMap(({ at, id }, index) => {
      const before = sorted[index - maxCalls.count];
      const isOver = before !== undefined && at - before.at < maxCalls.days * dayMs - capSlackMs;
      return isOver ? [`too often: person ${person}, by ${id} after ${before.id}`] : [];
    });
  });
}

function callsAgainstControls({ acts, calls, requests, chainOf, scenario }: Happened): string[] {
  // The last acceptance counts: a repeat renews `acceptedAt` only if the call's time was over.
  const callOf = new Map(
    calls.toSorted((a, b) => a.acceptedAt - b.acceptedAt).map((call) => [call.id, call]),
  );
  const concerns = (done: DoneAction, id: string, route: Route): boolean => {
    const { act, target, begun } = done;
    const call = callOf.get(chainOf.get(id) ?? id);
    if (call === undefined) return false;
    switch (act) {
      case "cancel call":
        return id === target;
      case "cancel request":
        return call.requestId === target; // a repeat of it too, whenever it was accepted
      case "cancel agent":
        return call.request.agent_id === target && call.acceptedAt <= begun;
      case "pause agent":
        return call.request.agent_id === target;
      case "pause account":
        return route.account === target;
      case "pause client":
        return call.client === target;
      case "do not call":
        return call.request.phone_number === target;
      case "erase":
        return isErasedBy(done, call, scenario);
      case "redial":
      case "resolve":
        return false;
    }
  };
  return acts.flatMap((done) =>
    requests
      .filter(({ leftAt }) => leftAt > done.from + orderMsMax && leftAt < done.until)
      .filter(({ id, route }) => concerns(done, id, route))
      .map(
        ({ id, leftAt }) =>
          `against an order: ${done.act}, ${id} at ${new Date(leftAt).toISOString()}`,
      ),
  );
}

function callsWithoutToken({ posted, calls }: Happened): string[] {
  const queued = new Set(calls.map(({ request }) => request.context?.["mark"]));
  return posted.flatMap(({ mark, token, agent, status }) => {
    const mayPost =
      token === "valid" ||
      token === "second" ||
      (token === "of another agent" && ["plain", "office"].includes(agent));
    if (mayPost && status !== "refused") return [];
    return queued.has(mark) ? [`without a token: ${mark}`] : [];
  });
}

/** Checks that numbers, context values, tokens and secrets appear in no log line and in no error answer. */
function leaks({ events, answers, posted, secrets, scenario }: Happened): string[] {
  const telling = [
    ...people.map(({ number }) => number.slice(1)),
    ...new Set(posted.map(({ mark }) => mark)),
    ...Object.values(tokens),
    ...secrets.filter((secret) => secret.length < 100),
    "12125550100",
  ];
  // Names that clients choose. The previous plan names the agent.
  const names = [numberInNames, ...(scenario.oldPlanSeconds > 0 ? [] : [`"${unnamedAgent}`])];
  const leaksOf = (where: string, text: string, tellings = telling) =>
    tellings.filter((one) => text.includes(one)).map((one) => `leaked: ${where} has ${one}`);
  return [
    ...events.flatMap((event) =>
      leaksOf("a log line", JSON.stringify(event), [...telling, ...names]),
    ),
    ...answers
      .filter(({ path, status }) => status >= 400 || path.startsWith("/v1/"))
      .flatMap(({ path, status, text }) => leaksOf(`an answer ${status} of ${path}`, text)),
  ];
}
