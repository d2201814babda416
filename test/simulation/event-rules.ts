import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { parseRow } from "#shared/ports/stored-row.ts";
import type { EventBody } from "#shared/events/outbox-rows.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { RowVersion } from "./ledger.ts";
import { someTypes } from "./plan.ts";
import type { PostSeen } from "./receivers.ts";
import type { Receiving, Scenario } from "./scenario.ts";

/** The events of a run against which the promises about events of calls are checked. */
export interface EventsHappened {
  scenario: Scenario;
  /** Time from which on nothing fails, but for receivers that are down. */
  calmFrom: number;
  /** Every version of every row, oldest first. */
  versions: readonly RowVersion[];
  /** The rows at the end. */
  rows: readonly CallRow[];
  /** Requests to receivers, oldest first. */
  posts: readonly PostSeen[];
  /** All calls that were ever on the queue. */
  calls: readonly Call[];
}

export const openStates: ReadonlySet<string> = new Set(["WAITING", "DIALING", "UNKNOWN"]);
/** Maximum tries of one event. */
const triesMax = 10;
/** Time past the storm after which nobody stands still any more: the longest standstill, and a life. */
const stillMsMax = 2_700_000;
/** Maximum duration of a delivery that tells events. */
const deliveryMsMax = 90_000;
/** Maximum time that the sweep takes to count a request's calls, and to write what it has counted. */
const countMsMax = 30_000;
/** Maximum requests to one receiver under way, of one delivery alone. */
const atOnceMax = 3;
/** Maximum delay of a request after its permit's time. */
const momentMsMax = 50;
/** Time for which a receiver's answer may delay the next request to it. */
const answerMsMax = 5_000;
/**
 * Maximum time from a write to the request that tells it, where its own receiver is well. Another receiver that begins to
 * hang may hold the only delivery until its first time-out.
 */
const lateMsMax = 60_000;
/** The same where messages are soon dead letters: the sweep after the next one sends the events again. */
const lateMsMaxSwept = 150_000;

/** Returns the receiver of a client's events. */
function receiverOf({ client }: Pick<CallRow, "client">, all: readonly Receiving[]) {
  return all.find(({ name }) => name === client) ?? all.find(({ name }) => name === "*");
}

const isTold = (type: string, { isAllDelivered }: Receiving) =>
  isAllDelivered || someTypes.some((one) => one === type);

/** Returns a description of every broken promise about events; empty if all were kept. */
export function eventViolations(happened: EventsHappened): string[] {
  const { scenario, posts } = happened;
  if (scenario.receivers.length === 0) {
    return posts.length === 0 ? [] : ["event: one is told, though nobody is to be told"];
  }
  // Events that a restore took away are told again under other sequences, or not at all where their row is gone.
  if (scenario.restore !== undefined) return [...eventsLeft(happened), ...triedTooOften(happened)];
  return [
    ...eventsLeft(happened),
    ...eventsMissing(happened),
    ...eventsUntrue(happened),
    ...triedTooOften(happened),
    ...requestsUnfinished(happened),
    ...toldTooFast(happened),
    ...deliveredLate(happened),
    ...toldAtOnce(happened),
  ];
}

/** Maximum difference of two processes' clocks. */
const differenceMsMax = { same: 0, apart: 4_000, stepping: 3_604_000 };

/** Checks that each event was taken or its tries are used up. */
function eventsLeft({ rows, posts }: EventsHappened): string[] {
  const taken = new Set(posts.filter((one) => one.isTaken).map(({ id }) => id));
  return rows.flatMap(({ id, events, deliverTo }) => [
    ...(deliverTo?.startsWith("events:") === true
      ? [`event: ${id} is left in the list ${deliverTo}`]
      : []),
    ...events
      .filter(({ sequence, exhausted }) => exhausted !== true && !taken.has(`${id}.${sequence}`))
      .map(({ sequence }) => `event: ${id}.${sequence} is done and was not taken`),
  ]);
}

/** An event as it follows from what one write changed. */
interface Implied {
  type: string;
  state: string;
  status: string | undefined;
  at: number;
}

/** Returns what the versions of a row show to have happened, whatever its list of events says. */
function impliedBy(versions: readonly CallRowVersion[]): Implied[] {
  const implied: Implied[] = [];
  for (const [index, { row, at }] of versions.entries()) {
    const before = versions[index - 1]?.row;
    const { state, result, history } = row;
    const add = (type: string, status?: string) => implied.push({ type, state, status, at });
    if (state !== before?.state) {
      const isDecided = before?.state === "NEEDS_REVIEW" && history.at(-1)?.by !== undefined;
      if (isDecided) add("call.reviewed");
      else if (!openStates.has(state) && state !== "REDIALED") add(`call.${state.toLowerCase()}`);
    }
    const isAnswered = (one: typeof result) =>
      one != null &&
      (one.answered === true ||
        one.answeredAt !== null ||
        one.status === "completed" ||
        one.status === "voicemail");
    const wasAnswered = versions.slice(0, index).some((one) => isAnswered(one.row.result));
    if (isAnswered(result) && !wasAnswered) add("call.answered");
    if (result !== null && result.status !== "live" && result.status !== before?.result?.status) {
      add("call.ended", result.status);
    }
    if (row.callBack !== undefined && before?.callBack === undefined) add("call.call_back");
  }
  return implied;
}

interface CallRowVersion {
  at: number;
  row: CallRow;
}

function versionsById({ versions }: EventsHappened): Map<string, CallRowVersion[]> {
  const byId = new Map<string, CallRowVersion[]>();
  for (const { id, at, json } of versions) {
    const row = parseRow(id, "", JSON.parse(json));
    if (row === undefined) continue;
    const all = byId.get(id) ?? [];
    all.push({ at, row });
    byId.set(id, all);
  }
  return byId;
}

/** Checks that what happened to each call, and nothing else, is an event of its row, each with a number of its own. */
function eventsMissing(happened: EventsHappened): string[] {
  return [...versionsById(happened)].flatMap(([id, versions]) => {
    const last = versions.at(-1)?.row;
    const receiver = last && receiverOf(last, happened.scenario.receivers);
    if (last === undefined || receiver === undefined) return [];
    const wanted = impliedBy(versions).filter(({ type }) => isTold(type, receiver));
    const words = (one: { type: string; state: string; status?: string | undefined }) =>
      `${one.type} ${one.state} ${one.status ?? ""}`;
    const [told, should] = [last.events.map(words).join(", "), wanted.map(words).join(", ")];
    const numbers = last.events.map(({ sequence }) => sequence);
    // A row that was written while dialing was held may stand for one that a restore took away.
    const wasHeld = last.history.some(({ reason }) => reason === "restored");
    const first = wasHeld ? 101 : 1;
    const isNumbered = numbers.every((sequence, index) => sequence === first + index);
    return [
      ...(told === should ? [] : [`event: ${id} tells [${told}] and not [${should}]`]),
      ...(isNumbered ? [] : [`event: those of ${id} are numbered ${numbers.join(", ")}`]),
    ];
  });
}

/** Checks that each request tells of a write that has taken place, and always the same under its id. */
function eventsUntrue(happened: EventsHappened): string[] {
  const byId = versionsById(happened);
  const said = new Map<string, string>();
  return happened.posts.flatMap(({ id, body, at, receiver }) => {
    const earlier = said.get(id);
    const isOther = earlier !== undefined && earlier !== body;
    said.set(id, body);
    const broken = isOther ? [`event: ${id} says ${body} after ${earlier}`] : [];
    if (id.endsWith(".finished")) return broken;
    const { type, data }: EventBody = JSON.parse(body);
    const [call = "", sequence] = id.split(".");
    const before = byId.get(call)?.filter((one) => one.at <= at) ?? [];
    const { row } = before.at(-1) ?? {};
    const isWritten = before.some(({ row: { events } }) =>
      events.some((one) => String(one.sequence) === sequence && one.type === type),
    );
    const hadState = before.some((one) => one.row.state === data["state"]);
    const isItsOwn =
      row !== undefined && receiverOf(row, happened.scenario.receivers)?.name === receiver;
    const isEcho = row?.request?.context?.["mark"] ?? undefined;
    const echoed = JSON.stringify(data["echo"]);
    return [
      ...broken,
      ...(isWritten ? [] : [`event: ${id} is told before its write`]),
      ...(hadState ? [] : [`event: ${id} tells the state ${String(data["state"])}`]),
      ...(isItsOwn ? [] : [`event: ${id} is told to ${receiver}`]),
      ...(isEcho === undefined || echoed === JSON.stringify({ mark: isEcho })
        ? []
        : [`event: ${id} repeats ${echoed}`]),
    ];
  });
}

/** Checks that no event is tried before it is due, or more often than it may be. */
function triedTooOften(happened: EventsHappened): string[] {
  const { posts, calmFrom, scenario } = happened;
  const byId = versionsById(happened);
  const isDown = (name: string) =>
    scenario.receivers.some((one) => one.name === name && one.downSeconds > 0);
  // By its own clock the poster may be ahead of the one that wrote the time.
  const differenceMs = differenceMsMax[scenario.clocks];
  const early = posts.flatMap(({ id, at }) => {
    const [call = "", sequence] = id.split(".");
    if (sequence === "finished") return [];
    const all = byId.get(call) ?? [];
    // A function may have read any version that stood while it may have been at work.
    const stood = all.filter((one, index) => {
      const until = all[index + 1]?.at ?? Infinity;
      const isRecent = at < calmFrom + stillMsMax || until >= at - 120_000;
      return one.at <= at && isRecent;
    });
    const isDue = stood.some(({ row }) =>
      row.events.some(
        (one) => String(one.sequence) === sequence && (one.dueAt ?? Infinity) <= at + differenceMs,
      ),
    );
    return isDue ? [] : [`event: ${id} is told when it is not due`];
  });
  const often = [...Map.groupBy(posts, ({ id }) => id)].flatMap(([id, all]) => {
    const isCalm = all.every(({ at }) => at > calmFrom + stillMsMax);
    if (!isCalm || isDown(all[0]?.receiver ?? "")) return [];
    // A message that becomes visible again while its delivery is under way has its events told twice.
    if (scenario.visibilitySeconds * 1000 < deliveryMsMax) return [];
    return all.length <= 1 ? [] : [`event: ${id} is told ${all.length} times without need`];
  });
  const tries = happened.versions.flatMap(({ id, json }) => {
    const { events = [] }: { events?: { tries?: number; exhausted?: boolean }[] } =
      JSON.parse(json);
    const isOver = events.some(
      (one) => (one.tries ?? 0) > triesMax || (one.exhausted === true && one.tries !== triesMax),
    );
    return isOver ? [`event: one of ${id} has ${JSON.stringify(events)}`] : [];
  });
  return [...early, ...often, ...tries];
}

/** Checks that each request whose calls are all over is told of once, with the right counts. */
function requestsUnfinished(happened: EventsHappened): string[] {
  const { rows, posts, calls, scenario } = happened;
  const byId = versionsById(happened);
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  const requests = new Map(calls.map((call) => [call.requestId, call]));
  const known = new Set([...requests.keys()].map((id) => `${id}.finished`));
  const strange = posts
    .filter(({ id }) => id.endsWith(".finished") && !known.has(id))
    .map(({ id }) => `request: ${id} is of none`);
  const broken = [...requests.values()].flatMap(({ requestId, batchCalls, client }) => {
    const receiver = receiverOf({ client }, scenario.receivers);
    const told = posts.filter(({ id }) => id === `${requestId}.finished`);
    if (receiver === undefined) return told.length === 0 ? [] : [`request: ${requestId} is told`];
    const first = [...rowOf.values()].filter(({ id }) => requestIdOf(id) === requestId);
    const chains = first.map((row) => chainFrom(row, rowOf));
    const own = chains.flatMap((chain) => chain.slice(-1));
    const isOver =
      own.length === batchCalls &&
      own.every(({ state, dueAt }) => !openStates.has(state) && dueAt === null);
    const last = told.findLast((one) => one.isTaken);
    if (!isOver) return last === undefined ? [] : [`request: ${requestId} is not finished`];
    if (last === undefined) return [`request: ${requestId} is finished, and not told`];
    const versions = chains.map((chain) => chain.map(({ id }) => byId.get(id) ?? []));
    return countsWrong(requestId, last, versions, happened);
  });
  return [...strange, ...broken];
}

/** Returns the tries of a call that have rows, the first one first, up to the first that a call-back follows. */
function chainFrom(first: CallRow, rowOf: ReadonlyMap<string, CallRow>): CallRow[] {
  const chain: CallRow[] = [];
  for (let row: CallRow | undefined = first; row !== undefined;) {
    chain.push(row);
    row = row.callBack?.at === undefined ? rowOf.get(row.next?.id ?? "") : undefined;
  }
  return chain;
}

/** Checks the counts of a finished request: each call counts once, as it stood when the sweep finished the request. */
function countsWrong(
  requestId: string,
  { body }: PostSeen,
  calls: readonly (readonly (readonly CallRowVersion[])[])[],
  { calmFrom, scenario }: Pick<EventsHappened, "calmFrom" | "scenario">,
): string[] {
  const { data, timestamp }: FinishedBody = JSON.parse(body);
  const differenceMs = differenceMsMax[scenario.clocks];
  const until = Date.parse(timestamp) + differenceMs;
  const since =
    until - 2 * differenceMs - (until < calmFrom + stillMsMax ? stillMsMax : countMsMax);
  const { by_state, by_result } = data.counts;
  const finished = calls.map((tries) =>
    // A call counts by the last try that it had then.
    (tries.findLast(([begun]) => begun !== undefined && begun.at <= until) ?? [])
      .filter(({ at, row }, index, versions) => {
        const stoodUntil = versions[index + 1]?.at ?? Infinity;
        return at <= until && stoodUntil >= since && !openStates.has(row.state);
      })
      .map(({ row }) => row),
  );
  const sum = Object.values(by_state).reduce((one, other) => one + other, 0);
  const fits = (counts: Counts, nameOf: (row: CallRow) => string | undefined) => {
    const names = new Set([
      ...Object.keys(counts),
      ...finished.flat().flatMap((row) => nameOf(row) ?? []),
    ]);
    return [...names].every((name) => {
      const always = finished.filter((rows) => rows.every((row) => nameOf(row) === name)).length;
      const ever = finished.filter((rows) => rows.some((row) => nameOf(row) === name)).length;
      const count = counts[name] ?? 0;
      return count >= always && count <= ever;
    });
  };
  const isRight =
    data.total === calls.length &&
    sum === calls.length &&
    finished.every((rows) => rows.length > 0) &&
    fits(by_state, ({ state }) => state) &&
    fits(by_result, ({ result }) => result?.status);
  return isRight ? [] : [`request: ${requestId} of ${calls.length} calls says ${body}`];
}
type Counts = Record<string, number>;

interface FinishedBody {
  timestamp: string;
  data: { total: number; counts: { by_state: Counts; by_result: Counts } };
}

/**
 * Checks the pace of each receiver, by the generic cell rate algorithm. A request may be some seconds late behind one
 * that is answered slowly, or behind a function that stood still.
 */
function toldTooFast({ posts, scenario, calmFrom }: EventsHappened): string[] {
  // The time of the next request is kept by the clock of the process that made the last one, as the pace of calls is.
  if (scenario.clocks === "stepping") return [];
  return scenario.receivers.flatMap(({ name, requestsPerSecond }) => {
    const intervalMs = 1000 / requestsPerSecond;
    let nextAt = -Infinity;
    const own = posts.filter(({ receiver, at }) => {
      const mayBeLate = scenario.weather.freeze > 0 && at < calmFrom + stillMsMax;
      return receiver === name && !mayBeLate;
    });
    return own.flatMap(({ id, at }) => {
      const isEarly = at + momentMsMax + answerMsMax < nextAt;
      nextAt = Math.max(nextAt, at) + intervalMs;
      return isEarly ? [`event: ${id} is told too soon after another one`] : [];
    });
  });
}

/** Checks that one delivery at a time tells a receiver, and a receiver that hangs gets one request at a time. */
function toldAtOnce({ posts, calmFrom }: EventsHappened): string[] {
  const calm = posts.filter(({ at }) => at > calmFrom + stillMsMax);
  return [...Map.groupBy(calm, ({ receiver }) => receiver)].flatMap(([name, own]) =>
    own.flatMap(({ id, at }, index) => {
      const before = own.slice(0, index);
      const underWay = before.filter(({ until }) => until > at).length;
      const last = before
        .filter(({ until }) => until <= at)
        .toSorted((a, b) => b.until - a.until)[0];
      const isHanging = last !== undefined && last.until - last.at > answerMsMax;
      const most = isHanging ? 1 : atOnceMax;
      return underWay < most
        ? []
        : [`event: ${id} is one of ${underWay + 1} on the way to ${name}`];
    }),
  );
}

/**
 * Checks that receivers that are well are told at once, whatever others do, but for the time that their own pace takes for
 * the events before, and the difference of the clocks: one that is ahead takes every message for an old one.
 */
function deliveredLate(happened: EventsHappened): string[] {
  const { posts, calmFrom, scenario } = happened;
  const byClocks = scenario.clocks === "stepping" ? differenceMsMax.stepping : 0;
  const most = byClocks + (scenario.attemptsMax < 100 ? lateMsMaxSwept : lateMsMax);
  const well = new Set(scenario.receivers.filter((one) => one.downSeconds === 0));
  const firstPost = new Map<string, number>();
  for (const { id, at } of posts) if (!firstPost.has(id)) firstPost.set(id, at);
  return [...versionsById(happened)].flatMap(([id, versions]) => {
    const receiver = versions[0] && receiverOf(versions[0].row, scenario.receivers);
    if (receiver === undefined || !well.has(receiver)) return [];
    const known = new Set<number>();
    return versions.flatMap(({ at, row }) =>
      row.events.flatMap(({ sequence }) => {
        if (known.has(sequence)) return [];
        known.add(sequence);
        const postAt = firstPost.get(`${id}.${sequence}`) ?? Infinity;
        const waitMs = postAt - at;
        const before = posts.filter(
          (one) => one.receiver === receiver.name && one.at >= at && one.at < postAt,
        ).length;
        const pacedMs = (before * 1000) / receiver.requestsPerSecond;
        const isLate = at > calmFrom + stillMsMax && waitMs > most + pacedMs;
        return isLate ? [`event: ${id}.${sequence} is told after ${waitMs / 1000} s`] : [];
      }),
    );
  });
}
