import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import { grantPermits, momentsOf, type Pace } from "../../../shared/schedule/pacing.ts";
import type { DialerDeps } from "../context.ts";
import { type CalledUp, sendHints } from "./hints.ts";
import type { Turn } from "./marks.ts";
import { calledUpKeyOf, nextPermitAt } from "../../../shared/schedule/account-pace.ts";
import { knownRoundTripMs } from "../delivery/permits.ts";
import { aheadMsOf } from "./read-backlogs.ts";

/** Places of an account with a pace for rows to be called up before the next sweep. */
export interface CalledUpPlaces {
  notBefore: number;
  notAfter: number;
  /** Places by the `called-up` document as read; in milliseconds since the epoch, earliest first. */
  moments: number[];
}

/** Round trips from the delivery of a hint to the request: row, documents, claim, permit, and the permit's lead. */
const roundTripsToRequest = 5;

/** @param count maximum number of places */
export function placesOf(
  account: string,
  pace: Pace,
  count: number,
  read: DocumentsRead,
  deps: Pick<DialerDeps, "clock" | "memory" | "sweepSeconds">,
): CalledUpPlaces {
  const { clock, memory } = deps;
  const now = clock.now();
  // A call hinted now cannot leave at once: the account would lose places before that time.
  const soonest = now + roundTripsToRequest * knownRoundTripMs(memory);
  const notBefore = Math.floor(Math.max(soonest, nextPermitAt(account, pace, read, now)));
  const notAfter = now + aheadMsOf(deps);
  if (notBefore > notAfter) return { notBefore, notAfter, moments: [] };
  const arrivalUs = read.get("called-up", account)?.value.arrivalUs;
  const { granted, baseUs } = grantPermits(arrivalUs, pace, count, { notBefore, notAfter });
  return { notBefore, notAfter, moments: momentsOf(baseUs, granted, pace, notBefore) };
}

/**
 * Takes places for rows of an account with a pace, and sends their hints.
 *
 * @returns the rows whose hints the queue has acknowledged
 */
export async function callUpInTurn(
  turns: readonly Turn[],
  account: string,
  pace: Pace,
  { notBefore, notAfter }: CalledUpPlaces,
  deps: DialerDeps,
): Promise<Turn[]> {
  if (turns.length === 0) return [];
  const key = calledUpKeyOf(account);
  // Others may have taken places since these were counted; the rows then take the following ones.
  const latest = notAfter + Math.ceil((turns.length * pace.intervalUs) / 1000);
  const window = { notBefore, notAfter: latest };
  const moments = await deps.documents.takePermits(key, pace, turns.length, window);
  return sendInOrder(
    turns.map((turn, index) => ({
      ...turn,
      moment: Math.max(turn.moment, moments[index] ?? 0),
    })),
    deps,
  );
}

/** Sends hints for rows in the order of their times. */
export async function sendInOrder<Row extends CalledUp>(
  turns: readonly Row[],
  deps: DialerDeps,
): Promise<Row[]> {
  return sendHints(
    turns.toSorted((a, b) => a.moment - b.moment),
    deps,
  );
}
