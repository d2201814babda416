import type { CallRow } from "#shared/calls/call-row.ts";
import { parseRow } from "#shared/ports/stored-row.ts";
import { type Chained, clockMs } from "./chain-rules.ts";
import { callBacks } from "./plan.ts";
import { isCalm } from "./scenario.ts";

const minuteMs = 60_000;
/** Time after its own in which a promised call is dialed, and in which it may still be claimed, permitted and placed. */
const lateMsMax = 122 * minuteMs;
/** Maximum time from a promised call's end to the visit of its backlog that ends it, where nothing else does. */
const visitMsMax = 70 * minuteMs;
/** Time within which the analysis of an ended call is read for the last time. */
const readMsMax = 43 * minuteMs;
/** Maximum time for which the number of an ended call is kept, and that until the next sweep and its write. */
const keptMsMax = 62 * minuteMs;

/** Returns a description of every broken promise about callees who asked to be called back. */
export function callBackViolations(chained: Chained): string[] {
  const { scenario, rows } = chained;
  const parents = new Map(rows.map((row) => [row.next?.id ?? "", row]));
  const promised = rows.filter(({ tries }) => tries?.promisedAt !== undefined);
  const judged = [
    ...successorsTooMany(chained),
    ...promised.flatMap((row) => callsUnasked(row, parents.get(row.id), chained)),
    ...budgetsSpent(promised),
  ];
  // Rows that a restore took away are missed by the other checks.
  if (scenario.restore !== undefined) return judged;
  return [
    ...judged,
    ...rows.flatMap((row) => promisesBroken(row, chained)),
    ...promisesLate(chained),
    ...numbersLate(chained),
  ];
}

/** Checks after each write that a row names one successor in its life, and that the first wish counts. */
function successorsTooMany({ versions, scenario }: Chained): string[] {
  const said = new Map<string, string>();
  return versions.flatMap(({ id, json }) => {
    const row = parseRow(id, "", JSON.parse(json));
    const of = [
      ["successor", row?.next?.id],
      // After a restore a wish may be read again, when it is too late.
      [
        "promise",
        scenario.restore === undefined && row?.callBack ? JSON.stringify(row.callBack) : undefined,
      ],
    ] as const;
    return of.flatMap(([what, value]) => {
      const before = said.get(`${what} ${id}`) ?? value;
      if (value !== undefined) said.set(`${what} ${id}`, value);
      return value === undefined || value === before
        ? []
        : [`call back: ${id} has another ${what}`];
    });
  });
}

/** Checks that a promised call follows a call whose callee wished it, and is dialed when it was promised. */
function callsUnasked(
  { id, tries }: CallRow,
  parent: CallRow | undefined,
  { placements, scenario }: Chained,
): string[] {
  const promisedAt = tries?.promisedAt ?? 0;
  const wishes = placements.flatMap((one) =>
    one.id === parent?.id && one.life.wish?.at !== undefined ? [one.life.wish.at] : [],
  );
  const isAsked = wishes.some((at) => at <= promisedAt);
  const isRestored = scenario.restore !== undefined;
  // The row that names the call may be one that a restore took away; and the call may have been made as a retry before.
  const isLost = parent === undefined && isRestored;
  const slackMs = clockMs[scenario.clocks];
  const made = isRestored ? [] : placements.filter((one) => one.id === id);
  const wrong = made.filter(
    ({ leftAt }) => leftAt + slackMs < promisedAt || leftAt - slackMs > promisedAt + lateMsMax,
  );
  return [
    ...(isAsked || isLost ? [] : [`call back: nobody asked for ${id}`]),
    ...wrong.map(({ leftAt }) => `call back: ${id} at ${new Date(leftAt).toISOString()}`),
  ];
}

/** Checks that a chain has no more call-backs than the plan allows, and no retry after one. */
function budgetsSpent(promised: readonly CallRow[]): string[] {
  const chains = Map.groupBy(promised, ({ id, ancestors }) => ancestors[0] ?? id);
  const ids = new Set(promised.map(({ id }) => id));
  return [
    ...[...chains].flatMap(([id, own]) =>
      own.length > callBacks.most ? [`call back: ${id} has ${own.length}`] : [],
    ),
    ...promised.flatMap(({ id, next }) =>
      next === undefined || ids.has(next.id) ? [] : [`call back: a retry follows ${id}`],
    ),
  ];
}

/** Checks that a promise has its call, and, where nothing fails, that a wish is decided. */
function promisesBroken(row: CallRow, { rows, placements, scenario }: Chained): string[] {
  const { id, callBack, next, tries, result, history } = row;
  if (callBack?.at !== undefined) {
    const call = rows.find((one) => one.id === next?.id);
    return call?.tries?.promisedAt === callBack.at ? [] : [`call back: that of ${id} has no row`];
  }
  const wish = placements.find((one) => one.id === id)?.life.wish;
  const isSure = isCalm(scenario) && scenario.clocks === "same" && scenario.acts.length === 0;
  if (callBack !== undefined || wish === undefined || tries?.callBacks === undefined || !isSure)
    return [];
  const hasWish = result?.status === "completed" && wish.readyAt < (result.readAt ?? 0) + readMsMax;
  const mayWish =
    tries.callBacks.made < callBacks.most && history.every(({ by }) => by === undefined);
  return hasWish && mayWish ? [`call back: the wish of ${id} is unheard`] : [];
}

/** Checks, where nothing fails, that a promised call waits no longer than until its end. */
function promisesLate({ versions, scenario }: Chained): string[] {
  if (!isCalm(scenario) || scenario.clocks !== "same") return [];
  const waiting = new Map<string, number>();
  const isLate = ([, until]: [string, number], at: number) => at > until + visitMsMax;
  const late = versions.flatMap(({ id, at, json }) => {
    const until = waiting.get(id) ?? Infinity;
    const { state, tries } = parseRow(id, "", JSON.parse(json)) ?? {};
    waiting.delete(id);
    if (state === "WAITING" && tries?.promisedAt !== undefined) waiting.set(id, tries.until);
    return isLate([id, until], at) ? [id] : [];
  });
  const endAt = Math.max(0, ...versions.map(({ at }) => at));
  const left = [...waiting].flatMap((one) => (isLate(one, endAt) ? [one[0]] : []));
  return [...late, ...left].map((id) => `call back: ${id} waited beyond its end`);
}

/** Checks, where nothing fails, that the number of an ended call goes within the hour. */
function numbersLate({ versions, scenario }: Chained): string[] {
  if (!isCalm(scenario) || scenario.clocks !== "same") return [];
  const kept = new Map<string, number>();
  return versions.flatMap(({ id, at, json }) => {
    const until = kept.get(id);
    kept.delete(id);
    const row = parseRow(id, "", JSON.parse(json));
    const { status, readAt = at } = row?.result ?? {};
    const isKept = row?.state === "PLACED" && row.request !== null && status !== undefined;
    if (isKept && status !== "live" && row.next === undefined) kept.set(id, readAt + keptMsMax);
    return until !== undefined && at > until ? [`kept: the number of ${id} for over an hour`] : [];
  });
}
