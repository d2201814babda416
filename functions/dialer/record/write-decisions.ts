import { hashedNumberOf } from "#shared/calls/ids.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { type CallRow, type NewCall } from "#shared/calls/call-row.ts";
import { type CallState, states } from "#shared/calls/states.ts";
import { type Decided, applyDecision } from "#shared/calls/transitions.ts";
import { withTries } from "#shared/dial-plan/dial-plan.ts";
import { retentionMsOf } from "#shared/dial-plan/expiry.ts";
import { echoOf, findReceiver } from "#shared/dial-plan/receivers.ts";
import { clientReceiversOf } from "#shared/events/outbox-ledger.ts";
import { createClientReceiverEcho } from "#shared/events/client-receiver-events.ts";
import { addUsage, enteredStep } from "#shared/policy/usage.ts";
import type { UsageStep } from "#shared/policy/usage-ends.ts";
import type { Change } from "#shared/ports/ledger.ts";
import { errorForLog, type LogFields } from "#shared/lib/log.ts";
import { ensureBacklogs } from "./open-backlogs.ts";
import { wakeForRows } from "./wake-dispatcher.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";

/** Maximum rows per write. */
export const rowsPerWrite = 500;
/** Time reserved for one write and its follow-up. */
const writeMsMax = 30_000;

/** A decision to be written over the row that was read. */
export interface ToWrite {
  call: Call;
  row: CallRow | undefined;
  decided: Decided;
}

/**
 * Writes decisions made without a claim. A row that has changed since it was read stays unchanged.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch. No write begins less than 30 s before it
 * @throws if a write failed or no time is left. Any part may have taken effect, and all of it may be decided again
 */
export async function writeDecided(
  writes: readonly ToWrite[],
  deps: RowDeps & Pick<DialerDeps, "rowsPerSecond" | "wakeDispatcher">,
  deadline = Infinity,
): Promise<void> {
  const { clock, rowsPerSecond = Infinity } = deps;
  /** The follow-up of one write runs during the next write, to save time with a slow ledger. */
  let reported = Promise.resolve();
  let begunAt = -Infinity;
  try {
    for (let start = 0; start < writes.length; start += rowsPerWrite) {
      // DynamoDB takes a thousand writes a second per index key, and a split fills one backlog.
      await clock.sleep(begunAt + (rowsPerWrite * 1000) / rowsPerSecond - clock.now());
      begunAt = clock.now();
      if (begunAt + writeMsMax > deadline) throw new Error("no time is left to write the rest");
      const made = await writeSome(writes.slice(start, start + rowsPerWrite), deps);
      reported = reported.then(() => report(made, deps));
    }
  } finally {
    await reported;
  }
}

/** @returns the writes whose rows are now as decided */
async function writeSome(
  writes: readonly ToWrite[],
  deps: Pick<DialerDeps, "ledger" | "documents" | "settings" | "clock" | "random" | "memory">,
): Promise<ToWrite[]> {
  const { ledger, clock } = deps;
  const at = clock.now();
  const some = writes.flatMap((one) => {
    const change = toChange(one, at, deps);
    return change === undefined ? [] : [{ ...one, change }];
  });
  const waiting = some.filter((one) => one.decided.state === "WAITING");
  await ensureBacklogs(
    waiting.map(({ change }) => change.next),
    deps,
  );
  const written = await ledger.write(some.map(({ change }) => change));
  return some.filter((_, index) => written[index] === true);
}

/** Logs and counts the written decisions, and wakes a dispatcher for rows that are due. Never throws. */
async function report(
  made: readonly ToWrite[],
  deps: Pick<DialerDeps, "documents" | "settings" | "clock" | "wakeDispatcher" | "log" | "memory">,
): Promise<void> {
  for (const { call, decided: to } of made) {
    logDecision(call, { state: to.state, reason: to.reason }, deps);
  }
  const at = deps.clock.now();
  const steps = made.map(({ call, row, decided: { state } }) => {
    const of = { ...call, agentId: call.request.agent_id };
    return enteredStep({ ...of, state, before: row?.history ?? [], isPolled: false }, at);
  });
  const dueAt = made.flatMap(({ decided: to }) => (to.state === "WAITING" ? to.dueAt : []));
  await Promise.all([countSteps(steps, deps), wakeForRows(dueAt, deps)]);
}

function toChange(
  { call, row, decided: to }: ToWrite,
  at: number,
  deps: Pick<DialerDeps, "memory" | "settings" | "random">,
) {
  const next = applyDecision(
    row,
    { newCall: toNewCall(call, deps), decision: to },
    {
      version: deps.random.version(),
      at,
    },
  );
  return next === undefined ? undefined : ({ next, seen: row?.version ?? null } satisfies Change);
}

/** Adds steps of calls to the usage of the hour, now or with others. If this fails, only these counts are too low. */
export async function countSteps(
  steps: readonly UsageStep[],
  deps: Pick<DialerDeps, "documents" | "clock" | "settings" | "memory" | "log" | "countLater">,
): Promise<void> {
  const { documents, clock, settings, memory, log, countLater } = deps;
  if (countLater !== undefined) return countLater(steps);
  const { plan } = settings;
  const kept = { retentionMs: retentionMsOf(plan), known: memory.usage, agents: plan.agents };
  await addUsage(steps, { at: clock.now(), ...kept }, documents).catch((error: unknown) => {
    log("warning", "counts.update_failed", { count: steps.length, error: errorForLog(error) });
  });
}

export function toNewCall(
  call: Call,
  { settings, memory }: Pick<DialerDeps, "settings" | "memory">,
): NewCall {
  const { plan } = settings;
  const { context } = call.request;
  const echo = echoOf(context, findReceiver(call, plan));
  const own = clientReceiversOf(call, { plan, knownReceivers: memory.knownReceivers });
  const clientReceiverEcho =
    own.length === 0 ? {} : createClientReceiverEcho(context, { echo, own });
  const numbers = settings.numbers.trace(hashedNumberOf(call));
  return { call: withTries(call, plan), ...numbers, echo, ...clientReceiverEcho };
}

/** Names the log event of a call's entering a state, such as `call.needs_review`. */
export function logEventOf(state: CallState): string {
  return `call.${state.toLowerCase()}`;
}

/** Logs one wide event per decision. */
export function logDecision(
  call: Pick<Call, "id" | "requestId" | "client" | "mode"> & { request: { agent_id: string } },
  { state, ...fields }: LogFields & { state: CallState },
  { log }: Pick<DialerDeps, "log">,
): void {
  // No operator is called because of a test.
  const level = call.mode === "test" ? "info" : states[state].logLevel;
  log(level, logEventOf(state), {
    call_id: call.id,
    request_id: call.requestId,
    client: call.client,
    agent_id: call.request.agent_id,
    state,
    ...fields,
  });
}
