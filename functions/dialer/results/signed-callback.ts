import type { CallRow } from "../../../shared/calls/call-row.ts";
import type { ToldResult } from "../../../shared/providers/dialing-provider.ts";
import type { AckOrRetry } from "../../../shared/queue/call-queue.ts";
import type { EventMessage } from "../../../shared/queue/event-messages.ts";
import type { DialerDeps } from "../context.ts";
import { settleProved } from "../settle-proved.ts";
import { optOut } from "./opt-out.ts";
import { heldSeconds, perhapsPlaced } from "./perhaps-placed.ts";
import { openRowOf, writeResults } from "./write-results.ts";

type Callback = Extract<EventMessage, { kind: "callback" }>;
type Told = Extract<ToldResult, { kind: "told" }>;

/** Interval between a process's alarms about callbacks that do not verify. */
const saidEveryMs = 3_600_000;

/** Maximum tries where another writer changes the row meanwhile. */
const triesMax = 3;

/**
 * Follows a callback whose signed body tells the result itself. A signed result proves that the provider has the
 * call, so that one whose outcome was not known is settled PLACED. A call that is being dialed is left to its holder.
 * A callback that does not verify is dropped.
 *
 * @throws if the ledger could not be asked; the message is then retried
 */
export async function followSigned(message: Callback, deps: DialerDeps): Promise<AckOrRetry> {
  const { account, call } = message;
  const read = async (id: string) => (await deps.ledger.read([id])).rows.get(id);
  const named = call && (await read(call.id));
  if (call !== undefined && named?.claims.includes(call.claim) !== true) return "ack";
  const told = await verified(message, named, deps);
  if (told === undefined) return "ack";
  const id = named?.id ?? told.call?.id;
  for (let tries = 0; tries < triesMax; tries++) {
    const row = id === undefined ? undefined : await read(id);
    if (row === undefined || row.route?.provider !== account) return "ack";
    const claim = call?.claim ?? claimOf(row, told);
    if (claim === undefined) return "ack";
    if (row.state === "DIALING") return { retryAfterSeconds: heldSeconds };
    let placed: CallRow | undefined = row;
    if (perhapsPlaced.has(row.state)) {
      const at = deps.clock.now();
      await settleProved(row, { id: row.id, claim, state: "PLACED", reason: "found", at }, deps);
      placed = await read(row.id);
    }
    if (told.optedOut === true && placed !== undefined && !placed.optedOut) {
      if (!(await optOut(placed, deps))) continue;
      placed = await read(row.id);
    }
    const results = openRowOf(placed).map((open) => ({ row: open, result: told.result }));
    if (await writeResults(results, deps.clock.now(), deps)) return "ack";
  }
  throw new Error("every try to write the result met a conflict");
}

/** Returns what a callback tells, or undefined if it tells no end or does not verify. */
async function verified(
  { account, call, signed }: Callback,
  named: CallRow | undefined,
  deps: DialerDeps,
): Promise<Told | undefined> {
  const { plan, providerOf } = deps.settings;
  const ofAccount = Object.values(plan.agents).find(({ provider }) => provider === account);
  const route = named?.route ?? ofAccount;
  const told = route && signed && (await providerOf(route).readCallback?.(signed, route, call?.id));
  if (told?.kind === "unverified") sayUnverified(account, deps);
  return told?.kind === "told" ? told : undefined;
}

/** Returns the claim that a body's attempt names: the last one, if it is of that attempt. */
function claimOf({ claims, attempt }: CallRow, { call }: Told): string | undefined {
  return call?.attempt === attempt ? claims.at(-1) : undefined;
}

/** Raises an alarm at most once an hour: the secret may be wrong, or somebody has an address. */
function sayUnverified(account: string, { clock, log, memory }: DialerDeps): void {
  const now = clock.now();
  const isSaid = now - memory.unverifiedSaidAt < saidEveryMs;
  if (!isSaid) memory.unverifiedSaidAt = now;
  log(isSaid ? "warning" : "alarm", "callback.unverified", { provider: account });
}
