import { errorForLog, type Log } from "#shared/lib/log.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { queueOf, type StoredLetter, toLetterName } from "#shared/ports/dead-letters.ts";
import { writeLease } from "../runtime/lease.ts";
import { eventMessageSchema, isHint } from "#shared/ports/event-messages.ts";
import { openMessage } from "./open-message.ts";
import { followCallback } from "../results/handle-callback.ts";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { states } from "#shared/calls/states.ts";
import { applyDecision } from "#shared/calls/transitions.ts";
import { readClientReceivers } from "#shared/events/outbox-ledger.ts";
import { judgeFirstRow } from "#shared/rules/first-row.ts";
import { ends, halts, trusted } from "#shared/rules/gates.ts";
import { findVerdict, toDecided } from "#shared/rules/rule.ts";
import { rowStep } from "#shared/policy/usage.ts";
import type { Delivered } from "#shared/ports/queue.ts";
import { toCalls, type Message, messageSchema } from "#shared/ports/call-messages.ts";
import { toDecisionFacts } from "../decide/decide-delivered.ts";
import { readControlDocuments } from "../decide/control-documents.ts";
import { oldestAccepted } from "../dial/dial-calls.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { clientReceiverDepsOf } from "../events/client-receivers.ts";
import { chooseArms } from "./choose-arms.ts";
import { settleOutcome } from "../record/settle.ts";
import { countSteps, logEventOf, toNewCall } from "../record/write-decisions.ts";

/** Letters of one listed page, pages that are listed, and letters that one sweep handles. */
const pageLetters = 1_000;
const pagesMax = 10;
const lettersMax = 50;
/** Bytes of the letters that one sweep handles: a large request takes many of D1's thousand queries of an invocation. */
const bytesMax = 16 * 1024 * 1024;
/** Statements that a letter of ten thousand calls may take. The sweep before has left some. */
const letterStatements = 200;
/** Time after which a letter is tried again that could not be handled, or that killed its process. */
const retryMs = 30 * minuteMs;
/** Time after which a process lists letters again if there were none, because a list costs as much as a write. */
const listAgainMs = 5 * minuteMs;
/** Time left before the end of the invocation: a letter of ten thousand calls takes some seconds. */
const endMarginMs = 30_000;
/** Maximum rows per write. */
const rowsPerWrite = 500;

/**
 * Handles stored dead letters: calls go to a person, late outcomes are settled. A letter that fails stays, and is
 * tried again half an hour later. A letter that this version cannot read stays too, and this process does not try it
 * again: it waits for another version, which is another process. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function handleStoredLetters(deps: DialerDeps, deadline: number): Promise<void> {
  const { random, memory, clock, log } = deps;
  if (clock.now() < memory.letters.listAt) return;
  try {
    const { letters, isWhole } = await listLetters(deps);
    if (letters.length === 0) memory.letters.listAt = clock.now() + listAgainMs;
    if (isWhole) forgetGone(letters, deps);
    const due = letters.filter(
      ({ name }) => (memory.letters.waitUntil.get(name) ?? 0) <= clock.now(),
    );
    if (due.length === 0) return;
    // Each sweep begins elsewhere, so that letters that kill their process do not delay the others.
    const start = Math.floor(random.fraction() * due.length);
    let handled = 0;
    const chosen = [...due.slice(start), ...due.slice(0, start)].slice(0, lettersMax);
    for (const { name, bytes } of chosen) {
      if (clock.now() > deadline - endMarginMs || handled >= bytesMax) return;
      if (deps.statementsLeft() < letterStatements) return;
      handled += bytes;
      await handleAlone(name, deps);
    }
  } catch (error) {
    log("alarm", "store.unreachable", { error: errorForLog(error) });
  }
}

/**
 * Lists the first letters. If more follow, lists some that stand elsewhere each time: the first ones may all wait for another
 * version.
 */
async function listLetters(
  deps: Pick<DialerDeps, "deadLetters" | "random">,
): Promise<{ letters: StoredLetter[]; isWhole: boolean }> {
  const first = await listBehind(undefined, deps);
  if (first.isWhole) return first;
  const others = await listBehind(placeOf(deps.random.fraction()), deps);
  const byName = new Map([...first.letters, ...others.letters].map((one) => [one.name, one]));
  return { letters: [...byName.values()], isWhole: false };
}

async function listBehind(
  start: string | undefined,
  { deadLetters }: Pick<DialerDeps, "deadLetters">,
): Promise<{ letters: StoredLetter[]; isWhole: boolean }> {
  const letters: StoredLetter[] = [];
  let after = start;
  for (let page = 0; page < pagesMax; page++) {
    const listed = await deadLetters.list({ after, limit: pageLetters });
    letters.push(...listed.letters);
    if (listed.next === undefined) return { letters, isWhole: true };
    after = listed.next;
  }
  return { letters, isWhole: false };
}

/** Returns a place among the names of letters: the ids of their messages are hexadecimal. */
function placeOf(fraction: number): string {
  const place = Math.floor(fraction * 32);
  return toLetterName(place < 16 ? "calls" : "events", (place % 16).toString(16));
}

/** Forgets letters that are no longer stored: a letter that was put back may return. */
function forgetGone(
  letters: readonly StoredLetter[],
  { memory }: Pick<DialerDeps, "memory">,
): void {
  const stored = new Set(letters.map(({ name }) => name));
  for (const name of memory.letters.waitUntil.keys()) {
    if (!stored.has(name)) memory.letters.waitUntil.delete(name);
  }
}

/**
 * Handles a letter under a lease, which expires half an hour after its process has died: the letter may be what kills
 * processes, together with deliveries that have nothing to do with it.
 */
async function handleAlone(name: string, deps: DialerDeps): Promise<void> {
  const { documents, memory, clock, log } = deps;
  // If the letter cannot be fetched either, the next sweep continues with the others.
  const expiresAt = clock.now() + retryMs;
  memory.letters.waitUntil.set(name, expiresAt);
  const key = { kind: "lease", key: `letter:${name}` } as const;
  const lease = await writeLease({ ...key, value: {}, expiresAt }, null, deps).catch(
    (error: unknown) => {
      log("alarm", "ledger.unreachable", { error: errorForLog(error) });
    },
  );
  if (lease === undefined) return;
  try {
    await handleStored(name, deps);
  } finally {
    // otherwise the lease expires
    await documents.remove([{ ...key, seen: lease.version }]).catch(() => undefined);
  }
}

async function handleStored(name: string, deps: DialerDeps): Promise<void> {
  const { deadLetters, memory } = deps;
  const letter = await deadLetters.read(name);
  if (letter === undefined) return; // an operator has put it back meanwhile
  const delivered = { id: name, attempt: 1, open: async () => letter.body };
  const handle = queueOf(name) === "events" ? handleDeadEvent : handleDeadLetter;
  const handled = await handle(delivered, deps);
  if (handled === "done") return deadLetters.remove(name);
  if (handled === "unreadable") memory.letters.waitUntil.set(name, Infinity);
}

/** Result of handling a dead letter. `failed`: it may be handled later. */
type Handled = "done" | "unreadable" | "failed";

/**
 * Handles a message that failed a hundred times. Dials nothing: a late outcome is settled, a hint is dropped, and a call
 * without a row is written NEEDS_REVIEW, unless its controls end it: it was cancelled, its number was erased or must not be
 * called, or its time is over. Never throws.
 */
export async function handleDeadLetter(
  delivered: Delivered,
  deps: RowDeps & DecisionDeps,
): Promise<Handled> {
  const { log } = deps;
  const { attempt } = delivered;
  const message = await openMessage(delivered, messageSchema, deps);
  if (message === undefined) return "unreadable";
  log("alarm", "message.dead_lettered", { message_kind: message.kind, attempt });
  return settleDeadLetter(message, deps).catch(failedAs(log));
}

/** Says that a letter may be handled later, as an error kept it from it. */
function failedAs(log: Log): (error: unknown) => "failed" {
  return (error) => {
    log("alarm", "ledger.unreachable", { error: errorForLog(error) });
    return "failed";
  };
}

async function settleDeadLetter(message: Message, deps: RowDeps & DecisionDeps): Promise<Handled> {
  if (message.kind === "dispatch") return "done"; // a hint: its rows are dispatched again
  if (message.kind === "outcome") {
    await settleOutcome(message.settlement, deps);
    return "done";
  }
  const calls = toCalls(await chooseArms(message, deps));
  for (let start = 0; start < calls.length; start += rowsPerWrite) {
    const handled = await writeDead(calls.slice(start, start + rowsPerWrite), deps);
    if (handled !== "done") return handled;
  }
  return "done";
}

/** Writes the rows of calls that have none. Until a restore is done, cancellations may be missing: then nothing is written. */
async function writeDead(calls: readonly Call[], deps: RowDeps & DecisionDeps): Promise<Handled> {
  const { ledger, clock, random, log } = deps;
  const at = clock.now();
  const request_id = calls[0]?.requestId ?? "";
  const recent = calls.filter(({ acceptedAt }) => acceptedAt >= oldestAccepted(at, deps));
  if (recent.length < calls.length) {
    // The row may have been purged, and must not be created again.
    log("alarm", "call.too_old", { request_id, count: calls.length - recent.length });
  }
  const documents = await readControlDocuments(recent, { numbers: true }, deps);
  if (halts.some((stop) => stop(documents))) return "failed";
  await readClientReceivers(recent, clientReceiverDepsOf(deps)); // rows keep what these repeat of the context
  const known = toDecisionFacts(documents, deps);
  const changes = recent.flatMap((call) => {
    const resolved = known.resolver.resolve(call, undefined);
    const facts = { ...known, at };
    const verdict = findVerdict(trusted, resolved, facts) ?? judgeFirstRow(resolved, ends, facts);
    const decision = toDecided(verdict, at);
    const write = { version: random.version(), at };
    const next = applyDecision(undefined, { newCall: toNewCall(call, deps), decision }, write);
    // An existing row is left to the sweeps.
    return next === undefined ? [] : [{ next, seen: null }];
  });
  const written = await ledger.write(changes);
  const made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));
  logMade(made, request_id, deps);
  await countSteps(
    made.map((row) => rowStep(row, at)),
    deps,
  );
  return "done";
}

/** Logs one event for each end, not for each call, as platforms limit the log of an invocation. */
function logMade(
  made: readonly CallRow[],
  request_id: string,
  { log }: Pick<DialerDeps, "log">,
): void {
  const byEnd = Map.groupBy(made, ({ state, reason }) => `${state} ${reason}`);
  for (const ended of byEnd.values()) {
    const [first] = ended;
    if (first === undefined) continue;
    const { state, reason } = first;
    // A warning is an alarm here, as the call's message was never handled.
    const { logLevel } = states[state];
    log(logLevel === "warning" ? "alarm" : logLevel, logEventOf(state), {
      request_id,
      reason,
      count: ended.length,
    });
  }
}

/**
 * Handles a message of the events queue that failed a hundred times. A hint is dropped, as sweeps do the same work without it. A signed
 * callback is the only source of its call's result or opt-out, so it is tried again. Never throws.
 */
async function handleDeadEvent(one: Delivered, deps: DialerDeps): Promise<Handled> {
  const { log } = deps;
  const { attempt } = one;
  const message = await openMessage(one, eventMessageSchema, deps);
  if (message === undefined) return "unreadable";
  if (isHint(message) || message.kind !== "callback") {
    log("warning", "events.dead_lettered", { message_kind: message.kind });
    return "done";
  }
  const { kind: message_kind, account, call } = message;
  const ofCall = call === undefined ? {} : { call_id: call.id };
  log("alarm", "message.dead_lettered", { message_kind, account, attempt, ...ofCall });
  const answer = await followCallback(message, attempt, deps).catch(failedAs(log));
  return answer === "ack" ? "done" : "failed";
}
