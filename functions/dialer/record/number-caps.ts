import type { Call, Route } from "../../../shared/calls/call-request.ts";
import { toCall, type CallRow } from "../../../shared/calls/call-row.ts";
import { ConflictError } from "../../../shared/lib/retry.ts";
import { changeDocument } from "../../../shared/ports/change-document.ts";
import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
import { hashNumber } from "../../../shared/telephony/phone-number.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { capDaysMax, freeAt, type FrequencyCap } from "../../../shared/telephony/frequency-cap.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { dayMs } from "../../../shared/lib/units.ts";

const triesMax = 4;

/** Result of counting a call towards its cap; `freeAt` in milliseconds since the epoch. */
type CountedOrNot = { isCounted: true } | { isCounted: false; freeAt: number | undefined };

/** A claimed call to be counted in its number's document. */
interface Counted {
  row: CallRow;
  version: string;
}

type CapValue = ValueOf<"cap">;
type Entry = CapValue["entries"][number];

/**
 * Adds a call to the entries. If the caps refuse it, returns the time at which its number is free again, undefined if
 * unknown.
 */
function addEntry(
  entries: readonly Entry[],
  { row, version }: Counted,
  { caps, at }: { caps: readonly FrequencyCap[]; at: number },
): { next: Entry[] } | { freeAt: number | undefined } {
  const others = entries.filter((one) => one.call !== row.id);
  const own = entries.find((one) => one.call === row.id);
  // A process that claimed the call first may have died before it counted the call, so a resend may lack an entry.
  const hasEntry = row.resent && own !== undefined;
  // A later claim has counted the call while this holder stood still. Counting here would overwrite that entry.
  if (own !== undefined && own.at > (row.claimedAt ?? 0) && own.claim !== version) {
    return { freeAt: undefined };
  }
  const times = others.map((one) => one.at);
  const free = freeAt(times, caps, at);
  if (free > at && !hasEntry) return { freeAt: free };
  return { next: [...others, { call: row.id, claim: version, at }] };
}

/** Returns the content of a number's document, without the entries that no cap counts any more. */
function toCap(value: CapValue, now: number) {
  const periodMs = capDaysMax * dayMs;
  const entries = value.entries.filter(({ at }) => at > now - periodMs);
  return { value: { ...value, entries }, expiresAt: now + periodMs };
}

/** Returns a function that runs `work` after this delivery's pending work on the same number. */
function createTurns() {
  const busy = new Map<string, Promise<unknown>>();
  return async <Result>(numberHash: string, work: () => Promise<Result>): Promise<Result> => {
    const before = busy.get(numberHash) ?? Promise.resolve();
    const mine = before.then(work, work);
    busy.set(numberHash, mine);
    return mine;
  };
}

function leftOnConflict(error: unknown): { after: undefined } {
  if (error instanceof ConflictError) return { after: undefined };
  throw error;
}

/**
 * Counts claimed calls towards the frequency caps of their numbers. Within a delivery, entries of one number
 * are written one after another, so that two calls never take the last room together.
 */
export function createCaps(deps: DialerDeps) {
  const { clock, settings, log } = deps;
  const inTurn = createTurns();
  /** The number's hash under today's HASH_KEY. The row's may be older. */
  const keyOf = ({ request }: Call) =>
    hashNumber(request.phone_number, settings.hashKey).numberHash;

  return {
    /**
     * Counts a call that is about to be dialed, at the time of its permit: with the time of its claim, some seconds
     * earlier, its number would be free too soon. A resend may ring now, so it takes a new timestamp in the entry
     * that it already has.
     *
     * @returns `isCounted: true` if the call may go; otherwise the time at which its number is free again, undefined
     * if unknown or without a permit
     */
    async count(
      counted: Counted,
      route: Route,
      permit: Promise<{ permitAt: number } | undefined>,
    ): Promise<CountedOrNot> {
      const call = toCall(counted.row);
      if (call === undefined) return { isCounted: false, freeAt: undefined };
      const { caps, isCounted } = settings.schedule.capsOf(call.request, route);
      if (!isCounted) return { isCounted: true };
      const key = keyOf(call);
      return inTurn(key, async () => {
        let refused: CountedOrNot = { isCounted: false, freeAt: undefined };
        const change = async (current: CapValue = { entries: [] }) => {
          const permitted = await permit;
          if (permitted === undefined) return undefined;
          const at = Math.max(clock.now(), permitted.permitAt);
          const added = addEntry(current.entries, counted, { caps, at });
          if ("next" in added) return toCap({ ...current, entries: added.next }, clock.now());
          refused = { isCounted: false, freeAt: added.freeAt };
          return undefined;
        };
        const edit = { name: { kind: "cap", key }, triesMax, change } as const;
        const { after } = await changeDocument(edit, deps).catch(leftOnConflict);
        return after === undefined ? refused : { isCounted: true };
      });
    },

    /**
     * Removes the entry of a call that certainly was not placed. If this fails, the number is called later than
     * necessary.
     */
    async release({ row, version }: Counted, route: Route): Promise<void> {
      const call = toCall(row);
      if (call === undefined || row.resent) return;
      if (!settings.schedule.capsOf(call.request, route).isCounted) return;
      const key = keyOf(call);
      const change = (current: CapValue = { entries: [] }) => {
        const entries = current.entries.filter((one) => one.claim !== version);
        if (entries.length === current.entries.length) return undefined;
        return toCap({ ...current, entries }, clock.now());
      };
      const edit = { name: { kind: "cap", key }, triesMax, change } as const;
      await inTurn(key, () => changeDocument(edit, deps)).catch((error: unknown) => {
        log("warning", "cap.release_failed", { call_id: row.id, error: errorForLog(error) });
      });
    },
  };
}
export type Caps = ReturnType<typeof createCaps>;
