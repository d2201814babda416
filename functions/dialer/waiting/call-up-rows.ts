import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import { comparePlaces, type DuePlace } from "../../../shared/ledger/call-ledger.ts";
import { type AccountStart, createAccountQueue } from "../../../shared/schedule/account-queue.ts";
import type { Mark } from "../../../shared/documents/kinds.ts";
import type { Pace } from "../../../shared/schedule/pacing.ts";
import type { DialerDeps } from "../context.ts";
import { type CalledUp, sendHints } from "./hints.ts";
import type { Turn } from "./marks.ts";
import { calledUpKeyOf } from "../../../shared/schedule/account-pace.ts";
import { knownRoundTripMs } from "../delivery/permits.ts";
import { aheadMsOf } from "./read-backlogs.ts";

/** Places of an account with a pace for rows to be called up before the next sweep. */
export interface CalledUpPlaces {
  notBefore: number;
  notAfter: number;
  /** The theoretical arrival time of the next row, see pacing.ts: after all permits and places that are taken. */
  arrivalUs: number;
}

/** Round trips from the delivery of a hint to the request: row, documents, claim, permit, and the permit's lead. */
const roundTripsToRequest = 5;

/**
 * Returns the places that are free by the documents as read: after the rows that `marks` show as called up. The document
 * `called-up` alone does not show those that were called up ahead of their time.
 */
export function placesOf(
  account: string,
  pace: Pace,
  read: DocumentsRead,
  marks: readonly Mark[],
  deps: Pick<DialerDeps, "clock" | "memory" | "sweepSeconds">,
): CalledUpPlaces {
  const { clock, memory } = deps;
  const now = clock.now();
  // A call hinted now cannot leave at once: the account would lose places before that time.
  const notBefore = Math.floor(now + roundTripsToRequest * knownRoundTripMs(memory));
  const arrivalOf = (kind: "pace" | "called-up") => read.get(kind, account)?.value.arrivalUs ?? 0;
  const untilUs = marks.map(({ until }) =>
    until > now ? until * 1000 + pace.burst * pace.intervalUs : 0,
  );
  const arrivalUs = Math.max(arrivalOf("pace"), arrivalOf("called-up"), ...untilUs);
  return { notBefore, notAfter: now + aheadMsOf(deps), arrivalUs };
}

/** Maximum number of places before the next sweep. */
export function placesMax(pace: Pace, deps: Pick<DialerDeps, "sweepSeconds">): number {
  return Math.ceil((aheadMsOf(deps) * 1000) / pace.intervalUs) + pace.burst;
}

/** Rows in the order of their turns, each with its time. `from`: the time of the first free place. */
export interface InTurn<Row> {
  turns: (Row & { moment: number })[];
  from: number;
}

/**
 * Gives rows their turns at an account: none before it is due, or outside the places.
 *
 * @param most maximum number of turns
 */
export function inTurn<Row extends DuePlace & { backlog: string }>(
  rows: readonly Row[],
  { pace, servedLast }: Omit<AccountStart, "arrivalUs">,
  { notBefore, notAfter, arrivalUs }: CalledUpPlaces,
  most: number,
): InTurn<Row> {
  const later = rows.toSorted((one, other) => comparePlaces(other, one));
  const queue = createAccountQueue<Row>({ pace, servedLast, arrivalUs }, notBefore, {
    first: () => later.at(-1),
    removeFirst: () => void later.pop(),
  });
  const turns: InTurn<Row>["turns"] = [];
  while (turns.length < most) {
    const moment = queue.nextAt();
    const row = moment !== undefined && moment <= notAfter ? queue.take() : undefined;
    if (moment === undefined || row === undefined) break;
    turns.push({ ...row, moment });
  }
  return { turns, from: Math.max(notBefore, Math.ceil(arrivalUs / 1000)) };
}

/**
 * Takes the places of rows at an account with a pace, and sends their hints.
 *
 * @param mine those of the turns whose backlogs no other writer has changed
 * @returns the rows whose hints the queue has acknowledged
 */
export async function callUpInTurn(
  mine: readonly Turn[],
  { turns, from }: InTurn<unknown>,
  account: string,
  pace: Pace,
  deps: DialerDeps,
): Promise<Turn[]> {
  if (mine.length === 0) return [];
  const takenMs = Math.ceil((turns.length * pace.intervalUs) / 1000);
  // As many places are taken from now on, although the account may rest before rows that are not yet due: fresh calls go
  // meanwhile.
  const window = { notBefore: from, notAfter: from + 2 * takenMs };
  const key = calledUpKeyOf(account);
  const places = await deps.documents.takePermits(key, { ...pace, burst: 1 }, turns.length, window);
  // Others may have taken places since these were counted; the rows then take the following ones.
  const lateMs = (places[0] ?? from) - from;
  return sendInOrder(
    mine.map((turn) => ({ ...turn, moment: turn.moment + lateMs })),
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
