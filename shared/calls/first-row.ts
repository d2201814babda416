import type { Call } from "./call-request.ts";
import type { CallRow } from "./call-row.ts";

/** A call with the trace of its number, and what its events repeat of it, as needed for its first row. */
export interface NewCall {
  call: Call;
  numberHash: string;
  numberTail: string;
  echo?: CallRow["echo"];
}

/** Returns the row of a call before its first change. */
export function createFirstRow({ call, echo = null, ...traces }: NewCall): CallRow {
  return {
    id: call.id,
    version: "",
    state: "WAITING",
    reason: "accepted",
    backlog: null,
    dueAt: null,
    claims: [],
    attempt: 0,
    resent: false,
    claimedAt: null,
    lostUntil: null,
    unknownSince: null,
    misses: 0,
    request: call.request,
    batchCalls: call.batchCalls,
    ancestors: call.ancestors ?? [],
    route: null,
    providerCallId: null,
    result: null,
    optedOut: false,
    echo,
    ...traces,
    events: [],
    deliverTo: null,
    deliverAt: null,
    redialedAs: null,
    client: call.client,
    agentId: call.request.agent_id,
    acceptedAt: call.acceptedAt,
    updatedAt: call.acceptedAt,
    history: [],
  };
}
