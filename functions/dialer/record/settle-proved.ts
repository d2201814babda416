import type { CallRow } from "#shared/calls/call-row.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { Settlement } from "#shared/calls/transitions.ts";
import type { Change } from "#shared/ports/ledger.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { settleSurely } from "./settle.ts";
import { enteredStep } from "#shared/policy/usage.ts";
import { countSteps, logDecision } from "./write-decisions.ts";

/**
 * Settles a call outside of its dialing, as its provider's record or signed callback proves.
 *
 * @returns false if the row does not accept the settlement
 * @throws if neither the ledger nor the queue took the settlement
 */
export async function settleProved(
  row: CallRow,
  settlement: Settlement,
  deps: RowDeps & Pick<DialerDeps, "queue">,
): Promise<boolean> {
  const write = async (change: Change) => (await deps.ledger.write([change]))[0] === true;
  const settling = await settleSurely(settlement, { row, write }, deps);
  if (settling === "lost") throw new Error("the settlement was lost");
  if (settling === "refused") return false;
  const { id, client, mode, agentId, route, attempt } = row;
  const { state, reason } = settlement;
  const call = { id, requestId: requestIdOf(id), client, mode, request: { agent_id: agentId } };
  logDecision(call, { state, reason, account: route?.account ?? "", attempt }, deps);
  const isPolled = settlement.pollAt !== undefined;
  const entered = { ...row, state, before: row.history, isPolled };
  await countSteps([enteredStep(entered, deps.clock.now())], deps);
  return true;
}
