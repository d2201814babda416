import { type CallRow, callOf } from "../../../shared/calls/call-row.ts";
import type { Settlement } from "../../../shared/calls/state-machine.ts";
import type { Change } from "../../../shared/ledger/call-ledger.ts";
import type { ToldResult } from "../../../shared/providers/dialing-provider.ts";
import type { EventMessage } from "../../../shared/queue/event-messages.ts";
import type { DialerDeps } from "../context.ts";
import { settleSurely } from "../settle.ts";
import { countStates, logDecision } from "../write-decided.ts";
import { openRowOf, writeResults } from "./write-results.ts";

type Callback = Extract<EventMessage, { kind: "callback" }>;
type Told = Extract<ToldResult, { kind: "told" }>;

/** Interval between a process's alarms about callbacks that do not verify. */
const saidEveryMs = 3_600_000;

/**
 * Follows a callback whose signed body tells the result itself. A signed result proves that the provider has the
 * call, so that one whose outcome was not known is settled PLACED. One that does not verify is dropped.
 *
 * @throws if the ledger could not be asked; the message is then retried
 */
export async function followSigned(
  { account, call, signed }: Callback,
  deps: DialerDeps,
): Promise<void> {
  const { ledger, settings } = deps;
  const read = async (id: string) => (await ledger.read([id])).rows.get(id);
  const named = call && (await read(call.id));
  if (call !== undefined && named?.claims.includes(call.claim) !== true) return;
  const route =
    named?.route ??
    Object.values(settings.plan.agents).find(({ provider }) => provider === account);
  const asked = route && signed && settings.providerOf(route).readCallback?.(signed, route);
  const told = await asked;
  if (told === undefined || told.kind === "other") return;
  if (told.kind === "unverified") {
    sayUnverified(account, deps);
    return;
  }
  const row = named ?? (told.call && (await read(told.call.id)));
  if (row === undefined || row.route?.provider !== account) return;
  const claim = call?.claim ?? claimOf(row, told);
  if (claim === undefined) return;
  const placed = row.state === "PLACED" ? row : await settlePlaced(row, claim, deps, read);
  await writeResults(
    openRowOf(placed).map((open) => ({ row: open, result: told.result })),
    deps.clock.now(),
    deps,
  );
}

/** Returns the claim that a body's attempt names: the last one, if it is of that attempt. */
function claimOf({ claims, attempt }: CallRow, { call }: Told): string | undefined {
  return call?.attempt === attempt ? claims.at(-1) : undefined;
}

/** Settles a call that its provider has after all. Resolves to its row. */
async function settlePlaced(
  row: CallRow,
  claim: string,
  deps: DialerDeps,
  read: (id: string) => Promise<CallRow | undefined>,
): Promise<CallRow | undefined> {
  const { ledger, clock } = deps;
  const settlement: Settlement = {
    id: row.id,
    claim,
    state: "PLACED",
    reason: "found",
    at: clock.now(),
  };
  const write = async (change: Change) => (await ledger.write([change]))[0] === true;
  const settling = await settleSurely(row, settlement, write, deps);
  if (settling === "lost") throw new Error("the settlement was lost");
  const call = callOf(row);
  if (settling === "written" && call !== undefined) {
    logDecision(deps, call, "PLACED", { reason: "found", provider: row.route?.provider ?? "" });
    await countStates(["PLACED"], deps);
  }
  return read(row.id);
}

/** Raises an alarm at most once an hour: the secret may be wrong, or somebody has an address. */
function sayUnverified(account: string, { clock, log, memory }: DialerDeps): void {
  const now = clock.now();
  const isSaid = now - memory.unverifiedSaidAt < saidEveryMs;
  if (!isSaid) memory.unverifiedSaidAt = now;
  log(isSaid ? "warning" : "alarm", "callback.unverified", { provider: account });
}
