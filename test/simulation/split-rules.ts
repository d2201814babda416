import { type Call, type CallRequest } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { parseSplitMark } from "#shared/calls/split-mark.ts";
import type { CallsMessage } from "#shared/ports/call-messages.ts";
import { aRequestId } from "#test/support/calls.ts";
import { type Bench, callsNow, request } from "#test/support/dialer-calls.ts";

/** Name of the split to which simulations post their calls. */
export const splitName = "agent_any";

/** Sends one request of calls to the split now. Resolves to its message, which may be delivered again. */
export async function postToSplit(
  bench: Bench,
  callees: readonly Partial<CallRequest>[],
  more: Partial<Call> = {},
): Promise<CallsMessage> {
  const requestId = aRequestId(bench.now());
  const calls = callsNow(bench, callees.length, { agent_id: splitName }, more).map(
    (call, index) => ({
      ...call,
      id: toCallId(requestId, index),
      requestId,
      request: { ...call.request, ...callees[index] },
    }),
  );
  const message = request(calls);
  await bench.send(message);
  return message;
}

export const listRows = async (bench: Bench): Promise<CallRow[]> =>
  (await bench.rows.list({ all: true, limit: 10_000 })).rows;

/** Returns the id of the first call of a row's chain. */
export const firstIdOf = ({ id, ancestors }: Pick<CallRow, "id" | "ancestors">): string =>
  ancestors[0] ?? id;

/**
 * Returns the violations of what holds for every split: a callee has one arm while the weights stand, and so has a call with all
 * its tries; the arm of a row dials it, and once.
 */
export function armViolations(rows: readonly CallRow[], { dialed }: Pick<Bench, "dialed">) {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const armOf = new Map<string, string>();
  const found: string[] = [];
  for (const row of rows) {
    const { agentId, split, numberHash } = row;
    if (split !== undefined) {
      const callee = `callee ${numberHash} since ${parseSplitMark(split).since}`;
      if ((armOf.get(callee) ?? agentId) !== agentId) found.push(`${callee} has two arms`);
      armOf.set(callee, agentId);
    }
    const first = byId.get(firstIdOf(row));
    if (first?.agentId !== agentId) found.push(`the chain of ${first?.id} changes its arm`);
    if (first?.split !== split) found.push(`the chain of ${first?.id} changes its round`);
  }
  const ids = dialed.map(({ call }) => call.id);
  if (new Set(ids).size !== ids.length) found.push("somebody is dialed twice");
  for (const { call } of dialed)
    if (byId.get(call.id)?.agentId !== call.request.agent_id) found.push("another agent dialed");
  return found;
}
