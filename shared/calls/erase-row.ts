import type { CallRow } from "./call-row.ts";
import { states } from "./states.ts";
import { enterState, withoutPerson, type Write } from "./transitions.ts";

/** True if a row has nothing left to erase. */
function isErased({
  request,
  numberTail,
  echo,
  clientReceiverEcho,
  erasedAt,
  state,
}: CallRow): boolean {
  if (states[state].open) return erasedAt !== undefined;
  const hasNone =
    request === null && numberTail === "" && echo === null && clientReceiverEcho === undefined;
  return erasedAt !== undefined && hasNone;
}

/**
 * Erases what a row has of a person, or marks a row whose call is in progress, which is erased when it settles. A
 * waiting call is cancelled. Calls that were accepted after the erasure stay.
 */
export function applyErasure(
  row: CallRow,
  { at: erasedAt, by }: { at: number; by: string },
  { version, at }: Write,
): CallRow | undefined {
  if (row.acceptedAt > erasedAt || (row.state !== "WAITING" && isErased(row))) return undefined;
  const end = { state: "CANCELLED", reason: "erased", by, erasedAt } as const;
  if (row.state === "WAITING") return enterState(row, end, { version, at });
  return states[row.state].open
    ? { ...row, erasedAt, version }
    : { ...withoutPerson(row, erasedAt), version };
}
