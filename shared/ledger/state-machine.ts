import type {
  CallRow,
  Claim,
  HistoryEntry,
  OperatorAct,
  Settlement,
  UnclaimedWrite,
} from "./call-ledger.ts";

/**
 * The conditions under which a row may change, as pure functions of (row, write): the new row, the same row
 * where the write had taken effect before, or undefined where it is refused. The memory ledger runs them;
 * the other adapters say the same in their engine's own conditions and are compared with these.
 *
 * DIALING never goes back to anything that dials by the passing of time: whoever claimed may still be about
 * to send. Each looser reading that was tried on a model of this phoned someone twice or lost a call.
 */
export function claimed(row: CallRow | undefined, claim: Claim): CallRow | undefined {
  const dialing = {
    state: "DIALING",
    reason: claim.resendOf === undefined ? "claimed" : "resent",
    token: claim.token,
    dueAt: claim.deadline,
    line: null,
    route: claim.route,
    claimedAt: claim.at,
    updatedAt: claim.at,
  } as const;
  const { attempt } = claim;
  if (row === undefined) {
    // It was read before: gone means that its story has ended.
    if (attempt !== 1 || claim.resendOf !== undefined) return undefined;
    return { ...firstRow(claim), ...dialing, attempt };
  }
  if (row.state === "DIALING" && row.token === claim.token) return row;
  if (row.attempt + 1 !== attempt) return undefined;
  if (claim.resendOf !== undefined) {
    const allowed =
      row.state === "UNKNOWN" && row.token === claim.resendOf && isIdempotent(row.route);
    // At the account and the address that the first request went to, whatever the plan says by now.
    return allowed ? { ...row, ...dialing, route: row.route, attempt, resent: true } : undefined;
  }
  const due = row.state === "DEFERRED" && row.dueAt !== null && row.dueAt <= claim.at;
  return due ? { ...row, ...dialing, attempt } : undefined;
}

/** States that a settlement may leave, by the state it goes to. */
export const settleFrom: Record<Settlement["state"], readonly CallRow["state"][]> = {
  PLACED: ["DIALING", "UNKNOWN", "PARKED", "REDIALED", "CANCELLED"], // a late success wins
  DEFERRED: ["DIALING", "UNKNOWN"],
  REJECTED: ["DIALING", "UNKNOWN"],
  UNKNOWN: ["DIALING"],
  PARKED: ["DIALING", "UNKNOWN"],
};

export function settled(row: CallRow | undefined, settlement: Settlement): CallRow | undefined {
  if (row === undefined || row.token !== settlement.token) return undefined;
  const { state, at } = settlement;
  if (row.state === state) return row;
  if (!settleFrom[state].includes(row.state)) return undefined;
  if (row.resent && (state === "DEFERRED" || state === "REJECTED")) return undefined;
  return {
    ...row,
    state,
    reason: settlement.reason,
    dueAt: settlement.dueAt ?? null,
    unknownSince: unknownSinceAfter(row, settlement),
    providerCallId: settlement.providerCallId ?? row.providerCallId,
    call: state === "PLACED" ? null : row.call,
    updatedAt: at,
  };
}

/** From the first unknown outcome on; an outcome that surely placed nothing starts anew. */
function unknownSinceAfter({ unknownSince }: CallRow, { state, at }: Settlement): number | null {
  if (state === "DEFERRED") return null;
  return unknownSince ?? (state === "UNKNOWN" ? at : null);
}

export function unclaimed(row: CallRow | undefined, write: UnclaimedWrite): CallRow | undefined {
  const decided = {
    state: write.state,
    reason: write.reason,
    dueAt: write.dueAt ?? null,
    line: write.line ?? null,
    updatedAt: write.at,
  };
  if (row === undefined) {
    return write.seenDueAt === null ? { ...firstRow(write), ...decided } : undefined;
  }
  const asSeen = row.state === "DEFERRED" && row.dueAt === write.seenDueAt;
  return asSeen ? { ...row, ...decided } : undefined;
}

function firstRow({ call, numberHash, numberTail }: UnclaimedWrite | Claim) {
  return {
    id: call.id,
    token: null,
    attempt: 0,
    resent: false,
    claimedAt: null,
    unknownSince: null,
    call,
    route: null,
    providerCallId: null,
    redialedAs: null,
    requestId: call.requestId,
    client: call.client,
    agentId: call.request.agent_id,
    numberHash,
    numberTail,
    acceptedAt: call.acceptedAt,
    history: [],
  };
}

/** States that an operator may take a call out of, by the state that it comes to. */
export const actFrom: Record<OperatorAct["to"], readonly CallRow["state"][]> = {
  PLACED: ["PARKED"],
  CANCELLED: ["DEFERRED", "PARKED"],
  REDIALED: ["PARKED", "REJECTED", "EXPIRED"],
};

/** The reason of a row that an operator has decided on. */
export const operatorReason = "operator";

export function acted(row: CallRow | undefined, act: OperatorAct): CallRow | undefined {
  if (row === undefined) return undefined;
  const { to, redialedAs = null, at } = act;
  if (row.state === to && row.redialedAs === redialedAs) return row;
  if (row.state !== act.from || !actFrom[to].includes(row.state)) return undefined;
  return {
    ...row,
    state: to,
    reason: operatorReason,
    dueAt: null,
    line: null,
    redialedAs,
    call: to === "PLACED" ? null : row.call,
    updatedAt: at,
  };
}

/** What an operator's act adds to the history. */
export function actEntryOf({ to: state, by, at }: OperatorAct): HistoryEntry {
  return { at, state, reason: operatorReason, by };
}

/** What a write adds to the history of the row that it was made to. */
export function entryOf({
  at,
  state,
  reason,
  dueAt,
  line,
}: Omit<HistoryEntry, "dueAt"> & {
  dueAt?: number | undefined;
  line?: string | undefined;
}): HistoryEntry {
  // In a line it is a place, and no time.
  const waits = (state === "DEFERRED" || state === "UNKNOWN") && line === undefined;
  return { at, state, reason, ...(waits && dueAt !== undefined ? { dueAt } : {}) };
}

/** What a claim adds. */
export function claimEntryOf({ at, resendOf }: Claim): HistoryEntry {
  return { at, state: "DIALING", reason: resendOf === undefined ? "claimed" : "resent" };
}

/** Whether the route's provider drops a request it has seen under the same id. */
export function isIdempotent(route: CallRow["route"]): boolean {
  return route !== null && "idempotent" in route && route.idempotent === true;
}
