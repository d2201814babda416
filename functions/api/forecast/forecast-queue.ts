import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { type AccountStart, createAccountQueue } from "../../../shared/schedule/account-queue.ts";
import type { Bearing } from "../../../shared/schedule/decide-waiting.ts";
import { createPlaceList } from "./place-list.ts";
import type { Queued } from "./queued.ts";

/** Time ahead of their places at which rows are called up: a minute until the next sweep, and its messages' time. */
const calledUpAheadMs = 75_000;

/** The calls of a forecast that wait for one account. */
export interface ForecastQueue {
  add(item: Queued): void;
  /** Time at which the next call is served, in milliseconds since the epoch; undefined: none waits. */
  nextAt(): number | undefined;
  /** Removes the call that is served at the time that `nextAt` has just returned. */
  take(): Queued | undefined;
}

/**
 * Creates the queue of an account. Calls that are called up have their places before all others.
 *
 * @param from time before which nothing is served, in milliseconds since the epoch
 */
export function createForecastQueue(
  account: string,
  items: readonly Queued[],
  bearing: Bearing,
  from: number,
): ForecastQueue {
  const calledUp = createPlaceList<Queued>();
  const others = createPlaceList<Queued>();
  for (const item of items) (item.isCalledUp ? calledUp : others).add(item);
  const start = startOf(account, items, bearing);
  let queue = createAccountQueue(start, from, calledUp);
  let isCallingUp = true;
  let upcomingAt = from;
  // Writers call rows up without noting whose turn was the last. Unless rows remained, the next sweep notes it first.
  const { rowsRemain } = bearing.documents.get("account", account)?.value ?? {};
  let turnsNotedAt = rowsRemain === true ? Infinity : bearing.now + calledUpAheadMs;
  return {
    add: others.add,
    nextAt() {
      let at = queue.nextAt();
      if (at === undefined && isCallingUp) {
        isCallingUp = false;
        queue = createAccountQueue({ ...start, arrivalUs: queue.arrivalUs() }, upcomingAt, others);
        at = queue.nextAt();
      }
      upcomingAt = at ?? upcomingAt;
      return at;
    },
    take() {
      if (upcomingAt > turnsNotedAt) {
        queue.turnAfter(start.servedLast);
        turnsNotedAt = Infinity;
      }
      return queue.take();
    },
  };
}

function startOf(
  account: string,
  items: readonly Queued[],
  { plan, documents }: Bearing,
): AccountStart {
  return {
    pace: items[0] && accountOf(items[0].route, plan).pace,
    arrivalUs: documents.get("pace", account)?.value.arrivalUs ?? 0,
    servedLast: documents.get("account", account)?.value.servedLast ?? "",
  };
}
