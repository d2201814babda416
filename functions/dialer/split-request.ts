import type { Call } from "../../shared/calls/call.ts";
import { errorForLog } from "../../shared/platform/log.ts";
import type { AckOrRetry } from "../../shared/queue/call-queue.ts";
import {
  type CallsMessage,
  callsOf,
  messageCallsMax,
  messageOf,
} from "../../shared/queue/messages.ts";
import { decide } from "./decide.ts";
import { oldestAccepted } from "./dial-calls.ts";
import type { DialerDeps } from "./context.ts";
import { documentsFor, knownBy } from "./delivery/documents-for.ts";
import { paceOfRoute } from "./delivery/permits.ts";
import { retryLater } from "./retry.ts";
import { type ToWrite, writeDecided } from "./write-decided.ts";

/** Maximum size of a message of calls, in bytes of its JSON. Large contexts mean fewer calls per message. */
const messageBytesMax = 100_000;

/**
 * Splits a request of more than 25 calls. Calls that can go now travel on in messages of up to 25. Calls that
 * must wait, and those that have ended, are written to the ledger at once and cost no message. Splitting
 * twice is harmless: the ids are fixed, and an existing row is not overwritten. A split that ran out of time is
 * continued by the message's next delivery.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function splitRequest(
  message: CallsMessage,
  attempt: number,
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry> {
  const { queue, log, clock } = deps;
  const request_id = message.requestId;
  try {
    const calls = callsOf(message);
    if (message.acceptedAt < oldestAccepted(clock.now(), deps)) {
      // The rows may have been purged, and a duplicate must not outlive them.
      log("alarm", "call.too_old", { request_id, count: calls.length });
      return "ack";
    }
    const documents = await documentsFor(calls, { numbers: false }, deps);
    const known = knownBy(documents, clock.now(), deps);
    const going: Call[] = [];
    const writes: ToWrite[] = [];
    const written = attempt === 1 ? new Set<string>() : await writtenOf(calls, deps);
    for (const call of calls) {
      if (written.has(call.id)) continue;
      const decision = decide(call, undefined, known);
      if (decision.kind === "write") {
        writes.push({ call, row: undefined, decided: decision.decided });
      } else if (decision.kind === "dial" && paceOfRoute(decision.route, deps) !== undefined) {
        // All rows are written before the first places are hinted, so that no call overtakes another.
        const waits = { state: "WAITING", reason: "pace", dueAt: known.now } as const;
        writes.push({ call, row: undefined, decided: waits });
      } else going.push(call);
    }
    await writeDecided(writes, deps, deadline);
    const messages = inMessages(going);
    const sent = await queue.sendMany(messages.map((one) => ({ message: one })));
    log("info", "request.split", { request_id, client: message.client, count: calls.length });
    if (sent === messages.length) return "ack";
    log("alarm", "queue.unreachable", { request_id, count: messages.length - sent });
  } catch (error) {
    log("alarm", "ledger.unreachable", { request_id, error: errorForLog(error) });
  }
  return retryLater(attempt);
}

/** Maximum ids per read. */
const idsPerRead = 500;

/** Returns the ids of calls that have a row: an earlier delivery of their request has come that far. */
async function writtenOf(calls: readonly Call[], { ledger }: DialerDeps): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let start = 0; start < calls.length; start += idsPerRead) {
    const some = calls.slice(start, start + idsPerRead).map(({ id }) => id);
    const { rows, unreadable } = await ledger.read(some);
    for (const id of [...rows.keys(), ...unreadable]) ids.add(id);
  }
  return ids;
}

function inMessages(calls: readonly Call[]): CallsMessage[] {
  const messages: CallsMessage[] = [];
  let some: Call[] = [];
  let bytes = 0;
  const end = () => {
    const [first, ...rest] = some;
    if (first !== undefined) messages.push(messageOf([first, ...rest]));
    some = [];
    bytes = 0;
  };
  for (const call of calls) {
    const size = Buffer.byteLength(JSON.stringify(call.request)) + 30;
    if (some.length === messageCallsMax || bytes + size > messageBytesMax) end();
    some.push(call);
    bytes += size;
  }
  end();
  return messages;
}
