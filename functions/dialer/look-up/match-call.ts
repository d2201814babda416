import { requestEndsBy } from "#shared/lib/timing.ts";
import { hashedNumberOf } from "#shared/calls/ids.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { type CallState, statesWhere } from "#shared/calls/states.ts";
import type { FoundCall, NotPlaced, SoughtCall } from "#shared/providers/provider.ts";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import type { LookUp } from "../decide/decide-delivered.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { retentionMsOf } from "#shared/dial-plan/expiry.ts";

/** Tolerated difference between this clock and the provider's. */
const clockMarginMs = 5_000;
/** Tolerated lag of a ledger index. */
const indexMarginMs = 10_000;
/** Maximum delay between a request and the provider's placing of the call. */
const lateMsMax = 600_000;
/** Maximum calls to one number that are compared. With more, a candidate could be any of them. */
const callsToNumberMax = 100;

/** The record of a placed call. */
export type FoundPlaced = Exclude<FoundCall, { notPlaced: NotPlaced }>;

/**
 * Period in which the request of a claim, or of claims that a restore lost, may have been sent and answered, in
 * milliseconds since the epoch.
 */
export function findPeriod(
  { claimedAt, lostUntil, route }: Pick<CallRow, "lostUntil"> & { claimedAt: number; route: Route },
  { settings }: Pick<DialerDeps, "settings">,
): Pick<SoughtCall, "from" | "until"> {
  const limitMs = settings.table.account(route).timeoutSeconds * 1000;
  return {
    from: claimedAt - clockMarginMs,
    until: requestEndsBy(lostUntil ?? claimedAt, limitMs) + clockMarginMs,
  };
}

/**
 * Returns the provider's id of the sought call. A call found by our id is certain. A call found by number is accepted
 * only if it is the only candidate that belongs to no other row, and if no other row to that number may have been
 * placed in that period. Rows of other accounts count too, because their provider may call through this account's
 * carrier.
 */
export async function findOwnId(
  found: FoundPlaced,
  lookUp: LookUp,
  deps: Pick<DialerDeps, "ledger" | "documents" | "clock" | "random" | "settings">,
): Promise<string | undefined> {
  if (found.by === "id") return found.providerCallId;
  const { call, row } = lookUp;
  const { route, numberHash } = row;
  const { ledger, documents, clock, random, settings } = deps;
  // A restore may also have lost rows of other calls to this number, and the candidate could be one of them.
  if (row.lostUntil !== null) return undefined;
  // Under a missing HASH_KEY the hash of this number does not find its calls.
  const hashes = settings.numbers.own(hashedNumberOf(call));
  if (!hashes.includes(numberHash)) return undefined;
  const { from, until } = findPeriod(row, deps);
  // The ledger's index of numbers may lag.
  if (clock.now() < until + indexMarginMs) return undefined;
  const pages = await Promise.all(
    hashes.map((hash) => ledger.list({ numberHash: hash, limit: callsToNumberMax })),
  );
  if (pages.some(({ next, unreadable }) => next !== undefined || unreadable > 0)) return undefined;
  const others = pages.flatMap(({ rows }) => rows).filter(({ id }) => id !== call.id);
  const overlaps = ({ claimedAt, lostUntil, route: other, state }: CallRow) => {
    if (other === null) return false; // never claimed
    if (claimedAt === null) return true; // claimed before claim times were kept
    const time = findPeriod({ claimedAt, lostUntil, route: other }, deps);
    const lateMs = unresolved.has(state) ? lateMsMax : 0;
    return time.from <= until && from <= time.until + lateMs;
  };
  const isOfAccount = (other: Route | null) =>
    other !== null && accountNameOf(other) === accountNameOf(route);
  const isHidden = (other: CallRow) =>
    other.state === "PLACED" && !(other.providerCallId !== null && isOfAccount(other.route));
  if (others.some((one) => (unresolved.has(one.state) || isHidden(one)) && overlaps(one))) {
    return undefined;
  }
  const taken = new Set(others.map(({ providerCallId }) => providerCallId));
  const [candidate, ...further] = found.providerCallIds.filter((id) => !taken.has(id));
  if (candidate === undefined || further.length > 0) return undefined;
  // A document reserves the provider's id for one call, as a concurrent look-up may not see this one.
  const key = JSON.stringify([accountNameOf(route), candidate]);
  const document = {
    kind: "provider-id" as const,
    key,
    version: random.version(),
    value: { call: call.id },
    expiresAt: clock.now() + retentionMsOf(settings.plan),
  };
  const [isTaken] = await documents.write([{ next: document, seen: null }]);
  if (isTaken === true) return candidate;
  const current = (await documents.read([document])).get("provider-id", key);
  return current?.value.call === call.id ? candidate : undefined;
}

/** States of a call that has been claimed and may have been placed. */
const unresolved: ReadonlySet<CallState> = new Set(
  statesWhere(({ placed }) => placed === "now" || placed === "perhaps"),
);
