import type { Call } from "../../shared/calls/call.ts";
import { backlogOf, type CallRow, type CallState } from "../../shared/calls/call-row.ts";
import type { NewCall } from "../../shared/calls/first-row.ts";
import { type Decided, decided } from "../../shared/calls/state-machine.ts";
import { echoOf, receiverOf } from "../../shared/dial-plan/receivers.ts";
import { addCounts } from "../../shared/documents/counts.ts";
import type { Change } from "../../shared/ledger/call-ledger.ts";
import { errorForLog, type LogFields, type LogLevel } from "../../shared/platform/log.ts";
import { traceOfNumber } from "../../shared/numbering/phone-number.ts";
import { useBacklogs } from "./waiting/backlogs.ts";
import { callUpSoon } from "./waiting/call-up-soon.ts";
import type { DialerDeps } from "./context.ts";

/** Maximum rows per write, and the minimum interval between writes. */
const rowsPerWrite = 500;
const writeEveryMs = 1000;
/** Time that one write and its follow-up may take. */
const writeMsMax = 30_000;

/** A decision to be written over the row as read. */
export interface ToWrite {
  call: Call;
  row: CallRow | undefined;
  decided: Decided;
}

/**
 * Writes decisions made without a claim, and calls up rows that are due soon. A row that has moved on since
 * it was read stays unchanged.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch: no write begins less than 30 s before it
 * @throws if a write failed or no time is left: any part may have taken effect, and all of it may be decided again
 */
export async function writeDecided(
  writes: readonly ToWrite[],
  deps: DialerDeps,
  deadline = Infinity,
): Promise<void> {
  const { clock } = deps;
  /** The follow-up of one write runs beside the next write, so that a slow ledger delays only once. */
  let told = Promise.resolve();
  let begunAt = -Infinity;
  try {
    for (let start = 0; start < writes.length; start += rowsPerWrite) {
      // DynamoDB takes a thousand writes a second per index key, and a split fills one backlog.
      await clock.sleep(begunAt + writeEveryMs - clock.now());
      begunAt = clock.now();
      if (begunAt + writeMsMax > deadline) throw new Error("no time is left to write the rest");
      const made = await writeSome(writes.slice(start, start + rowsPerWrite), deps);
      const writtenAt = clock.now();
      told = told.then(() => tell(made, writtenAt, deps));
    }
  } finally {
    await told;
  }
}

/** @returns the writes whose rows stand as decided */
async function writeSome(writes: readonly ToWrite[], deps: DialerDeps): Promise<ToWrite[]> {
  const { ledger, clock } = deps;
  const at = clock.now();
  const some = writes.flatMap((one) => {
    const change = changeOf(one, at, deps);
    return change === undefined ? [] : [{ ...one, change }];
  });
  const waiting = some.filter((one) => one.decided.state === "WAITING");
  await useBacklogs(
    waiting.map(({ change }) => change.next),
    deps,
  );
  const written = await ledger.write(some.map(({ change }) => change));
  return some.filter((_, index) => written[index] === true);
}

/** Logs and counts the written decisions, and calls up rows that are due soon. Never throws. */
async function tell(made: readonly ToWrite[], writtenAt: number, deps: DialerDeps): Promise<void> {
  for (const { call, decided: to } of made)
    logDecision(deps, call, to.state, { reason: to.reason });
  sayRoutesGone(made, deps);
  const waiting = made.flatMap(({ call, decided: to }) =>
    to.state === "WAITING" ? { call, ...to, writtenAt, cameBack: false } : [],
  );
  await Promise.all([
    countStates(
      made.map((one) => one.decided.state),
      deps,
    ),
    callUpSoon(waiting, deps),
  ]);
}

function changeOf({ call, row, decided: to }: ToWrite, at: number, deps: DialerDeps) {
  const next = decided(row, newCallOf(call, deps), to, { version: deps.random.version(), at });
  return next === undefined ? undefined : ({ next, seen: row?.version ?? null } satisfies Change);
}

/** Raises one alarm per backlog whose calls wait until the plan has a route for their agent again. */
function sayRoutesGone(made: readonly ToWrite[], { log }: DialerDeps): void {
  const gone = made.filter((one) => one.decided.reason === "route_gone");
  const agents = new Map(
    gone.map(({ call: { client, request } }) => [
      backlogOf({ client, agentId: request.agent_id }),
      { client, agent_id: request.agent_id },
    ]),
  );
  for (const fields of agents.values()) log("alarm", "route.gone", fields);
}

/** Adds to the counts of the hour. If this fails, only these counts are too low. */
export async function countStates(states: readonly CallState[], deps: DialerDeps): Promise<void> {
  const { documents, clock, settings, log } = deps;
  const retentionMs = settings.plan.retentionDays * 86_400_000;
  await addCounts(documents, states, clock.now(), retentionMs).catch((error: unknown) => {
    log("warning", "counts.lost", { count: states.length, error: errorForLog(error) });
  });
}

export function newCallOf(call: Call, { settings: { plan, hashKey } }: DialerDeps): NewCall {
  const { phone_number, context } = call.request;
  const echo = echoOf(context, receiverOf(call.client, plan));
  return { call, ...traceOfNumber(phone_number, hashKey), echo };
}

const events: Record<CallState, [LogLevel, string]> = {
  PLACED: ["info", "call.placed"],
  WAITING: ["info", "call.waiting"],
  DIALING: ["info", "call.dialing"],
  REJECTED: ["info", "call.rejected"],
  EXPIRED: ["warning", "call.expired"],
  CANCELLED: ["info", "call.cancelled"],
  REDIALED: ["info", "call.redialed"],
  UNKNOWN: ["warning", "call.unknown"],
  NEEDS_REVIEW: ["alarm", "call.needs_review"],
};

/** Logs one wide event per decision. */
export function logDecision(
  { log }: Pick<DialerDeps, "log">,
  call: Pick<Call, "id" | "requestId" | "client"> & { request: { agent_id: string } },
  state: CallState,
  fields: LogFields,
): void {
  const [level, event] = events[state];
  log(level, event, {
    call_id: call.id,
    request_id: call.requestId,
    client: call.client,
    agent_id: call.request.agent_id,
    state,
    ...fields,
  });
}
