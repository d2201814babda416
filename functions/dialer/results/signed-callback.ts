import type { CallRow } from "../../../shared/calls/call-row.ts";
import { states } from "../../../shared/calls/states.ts";
import type { LogFields } from "../../../shared/lib/log.ts";
import { ConflictError, onConflict, retry } from "../../../shared/lib/retry.ts";
import type { ToldResult } from "../../../shared/providers/provider.ts";
import type { AckOrRetry } from "../../../shared/ports/queue.ts";
import type { EventMessage } from "../../../shared/ports/event-messages.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { settleProved } from "../record/settle-proved.ts";
import { findNextPollAt } from "../record/to-settlement.ts";
import { awaitHolder } from "./await-holder.ts";
import { optOut } from "./opt-out.ts";
import { openRowOf, writeResults } from "./write-results.ts";
import { hourMs, minuteMs } from "../../../shared/lib/units.ts";

type Callback = Extract<EventMessage, { kind: "callback" }>;
type DeliveryOutcome = Extract<ToldResult, { kind: "told" }>;

/** Interval between a process's alarms about callbacks that do not verify. */
const warnEveryMs = hourMs;

/** Time after which no function holds a replaced secret any more, as functions read secrets again every five minutes. */
const secretsMsMax = 6 * minuteMs;
/** Interval at which a callback is verified again in that time. */
const verifyAgainSeconds = 30;

/** Maximum tries of a write if other writes come first. */
const triesMax = 3;

/**
 * Handles a callback whose signed body contains the result. A signed result proves that the provider has the call, so
 * a call of unknown outcome is settled PLACED. A call that is being dialed is left to its holder. A callback that
 * does not verify or is malformed is dropped, except a webhook's while its secret is being replaced.
 *
 * @throws if the ledger could not be reached. The message is then retried
 */
export async function followSigned(
  message: Callback,
  attempt: number,
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { account, call } = message;
  const read = async (id: string) => (await deps.ledger.read([id])).rows.get(id);
  const named = call && (await read(call.id));
  if (call !== undefined && named?.claims.includes(call.claim) !== true) return "ack";
  const told = await verified(message, named, deps);
  if (told === "ack" || "retryAfterSeconds" in told) return told;
  const id = named?.id ?? told.call?.id;
  const conflict = new ConflictError("every try to write the result met a conflict");
  return retry<AckOrRetry>(async () => {
    const row = id === undefined ? undefined : await read(id);
    if (row === undefined || row.route?.provider !== account) return "ack";
    const claim = call?.claim ?? findClaim(row, told);
    if (claim === undefined) return "ack";
    const before = states[row.state].placed;
    if (before === "now") return awaitHolder(attempt);
    let placed: CallRow | undefined = row;
    if (before === "perhaps") {
      const at = deps.clock.now();
      // An agent's `retry` needs the call until its result is written.
      const polled = row.tries === undefined ? {} : { pollAt: findNextPollAt(row, at, deps) };
      const found = { id: row.id, claim, state: "PLACED", reason: "found", at, ...polled } as const;
      await settleProved(row, found, deps);
      placed = await read(row.id);
    }
    if (told.optedOut === true && placed !== undefined && !placed.optedOut) {
      if (!(await optOut(placed, deps))) throw conflict;
      placed = await read(row.id);
    }
    const results = openRowOf(placed).map((open) => ({ row: open, result: told.result }));
    if (await writeResults(results, deps.clock.now(), deps)) return "ack";
    throw conflict;
  }, onConflict(triesMax));
}

/** Returns the result in a callback, or the decision about a callback without an end or a valid signature. */
async function verified(
  { account, call, signed }: Callback,
  named: CallRow | undefined,
  deps: DialerDeps,
): Promise<DeliveryOutcome | AckOrRetry> {
  const { plan, providerOf } = deps.settings;
  const ofAccount = Object.values(plan.agents).find(({ provider }) => provider === account);
  const route = named?.route ?? ofAccount;
  const told = route && signed && (await providerOf(route).readCallback?.(signed, route, call?.id));
  if (told?.kind === "told") return told;
  const fields = { provider: account, ...(call === undefined ? {} : { call_id: call.id }) };
  if (told?.kind === "malformed") deps.log("warning", "callback.malformed", fields);
  if (told?.kind !== "unverified") return "ack";
  warnUnverified(fields, deps);
  // The API has verified a webhook's callback, so one of both functions still holds a replaced secret.
  const isRenewing = deps.clock.now() - (signed?.receivedAt ?? 0) < secretsMsMax;
  return isRenewing && route?.type === "webhook"
    ? { retryAfterSeconds: verifyAgainSeconds }
    : "ack";
}

/** Returns the last claim if it is of the body's attempt. */
function findClaim({ claims, attempt }: CallRow, { call }: DeliveryOutcome): string | undefined {
  return call?.attempt === attempt ? claims.at(-1) : undefined;
}

/** Raises an alarm, at most once an hour: the secret may be wrong, or somebody knows a callback URL. */
function warnUnverified(fields: LogFields, { clock, log, memory }: DialerDeps): void {
  const now = clock.now();
  const isSaid = now - memory.unverifiedSaidAt < warnEveryMs;
  if (!isSaid) memory.unverifiedSaidAt = now;
  log(isSaid ? "warning" : "alarm", "callback.unverified", fields);
}
