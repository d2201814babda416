import type { CallRow } from "#shared/calls/call-row.ts";
import { dialingLane, watchLane } from "#shared/calls/lane.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId, createRequestId, modeOf } from "#shared/calls/ids.ts";
import { randomId } from "#shared/lib/random.ts";

/** Time of the suites whose adapters have a clock, in milliseconds since the epoch. */
export const suiteNow = Date.UTC(2026, 10, 20, 12, 30);

/** Returns the hash of a number that no other call of the tests goes to. */
export const aNumberHash = () => randomId().padEnd(40, "0");

/** Returns a waiting row with an id of its own, accepted a minute before `suiteNow`. */
export function aRow(more: Partial<CallRow> = {}): CallRow {
  const { acceptedAt = suiteNow - 60_000, client = "crm" } = more;
  return {
    id: toCallId(createRequestId(acceptedAt, randomId()), 0),
    version: randomId(),
    state: "WAITING",
    reason: "outside_calling_hours",
    lane: '["crm","agent_sales"]',
    dueAt: suiteNow,
    claims: [],
    attempt: 0,
    resent: false,
    claimedAt: null,
    lostUntil: null,
    unknownSince: null,
    misses: 0,
    request: { phone_number: "+12025550123", agent_id: "agent_sales" },
    batchCalls: 1,
    notBefore: null,
    isUrgent: false,
    ancestors: [],
    route: null,
    providerCallId: null,
    result: null,
    optedOut: false,
    echo: null,
    events: [],
    deliverTo: null,
    deliverAt: null,
    redialedAs: null,
    client: "crm",
    agentId: "agent_sales",
    numberHash: aNumberHash(),
    numberTail: "23",
    acceptedAt,
    updatedAt: acceptedAt,
    history: [],
    ...more,
    mode: more.mode ?? modeOf(client),
  };
}

/** Backlog of a call under way of `aRow`, at a webhook's account. */
export const dialingBacklog = dialingLane({
  account: "webhook:http://127.0.0.1:9",
  client: "crm",
  agentId: "agent_sales",
});

/** Returns a row as transitions.ts leaves it in this state: without a lane unless it waits or is watched. */
export function aRowIn(state: CallState, more: Partial<CallRow> = {}): CallRow {
  if (state === "WAITING") return aRow(more);
  const isWatched = state === "DIALING" || state === "UNKNOWN";
  const lane = state === "DIALING" ? dialingBacklog : watchLane;
  const place = isWatched ? { lane, dueAt: suiteNow } : { lane: null, dueAt: null };
  return aRow({ ...place, state, reason: "test", ...more });
}

/** Returns rows of one request, accepted at `acceptedAt`. */
export function rowsOfOneRequest(count: number, more: Partial<CallRow> = {}): CallRow[] {
  const requestId = createRequestId(more.acceptedAt ?? suiteNow - 60_000, randomId());
  return Array.from({ length: count }, (_, index) =>
    aRow({ id: toCallId(requestId, index), ...more }),
  );
}

/** Returns the row under a fresh version, with some fields changed. */
export function changed(row: CallRow, more: Partial<CallRow> = {}): CallRow {
  return { ...row, version: randomId(), ...more };
}

/** Returns a row in a state that only a later version of this code knows. */
export function aLaterRow(more: Partial<CallRow> = {}): CallRow {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the state must be an unknown one
  return aRow({ state: "RINGING" as CallState, ...more });
}

export const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
/** Returns -1 if an id sorts before another, 1 if behind it. */
export const compareIds = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
export const newestFirst = (rows: readonly { id: string }[]) => idsOf(rows).toSorted().toReversed();
