import { errorForLog } from "../../shared/platform/log.ts";
import type { AckOrRetry, Delivered } from "../../shared/queue/call-queue.ts";
import {
  callsOf,
  type Message,
  messageCallsMax,
  messageSchema,
} from "../../shared/queue/messages.ts";
import { dialCalls, type WantedCall } from "./dial-calls.ts";
import type { DialerDeps } from "./context.ts";
import { openMessage } from "./open-message.ts";
import { withPortLimits } from "./wiring.ts";
import { retryLater } from "./retry.ts";
import { settleOutcome } from "./settle.ts";
import { splitRequest } from "./split-request.ts";
import { watchHeartbeat } from "./sweep.ts";

/** Calls that one delivery splits, approximately. Messages beyond that come again soon, unopened. */
const splitCallsMax = 20_000;
/** Minimum time for a split: opening the message, and the first write. */
const splitMsMin = 60_000;

/**
 * Handles one delivery of the call queue and decides, here alone, whether each message is acknowledged or
 * retried. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function handleMessages(
  delivered: readonly Delivered[],
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry[]> {
  const ready = withPortLimits(deps);
  const wanted = new Map<string, WantedCall>();
  const idsOf: string[][] = [];
  const answers: (AckOrRetry | undefined)[] = [];
  const splits: Split[] = [];
  for (const [index, one] of delivered.entries()) {
    const { attempt, large, open } = one;
    if (large) {
      splits.push({ index, attempt, open: () => openMessage(messageSchema, open, attempt, ready) });
      continue;
    }
    const message = await openMessage(messageSchema, open, attempt, ready);
    if (message === undefined) answers[index] = retryLater(attempt);
    else if (message.kind === "outcome") {
      answers[index] = await settle(message, attempt, ready);
    } else if (message.kind === "calls" && message.calls.length > messageCallsMax) {
      splits.push({ index, attempt, open: () => Promise.resolve(message) });
    } else {
      const calls: WantedCall[] =
        message.kind === "due"
          ? message.ids.map((id) => ({ id }))
          : callsOf(message).map((call) => ({ id: call.id, call }));
      idsOf[index] = calls.map(({ id }) => id);
      // Each id once, with its call if any of its messages brings it.
      for (const { id, call } of calls) {
        wanted.set(id, { id, call: call ?? wanted.get(id)?.call });
      }
    }
  }
  const [again, { answers: splitAnswers, few }] = await Promise.all([
    dial([...wanted.values()], ready, deadline),
    splitAll(splits, ready, deadline),
    watchHeartbeat(ready).catch(() => undefined), // the ledger's trouble is logged elsewhere
  ]);
  // After the others: a delivery sends no more requests at once than it may.
  const fewById = new Map([...few.values()].flat().map((call) => [call.id, call]));
  for (const id of await dial([...fewById.values()], ready, deadline)) again.add(id);
  for (const [index, calls] of few) idsOf[index] = calls.map(({ id }) => id);
  return delivered.map(({ attempt }, index) => {
    const isAgain = idsOf[index]?.some((id) => again.has(id)) === true;
    const answer = answers[index] ?? splitAnswers.get(index);
    return answer ?? (isAgain ? retryLater(attempt) : "ack");
  });
}

/** A message of more than 25 calls, or one that is kept in the object store and may be. */
interface Split {
  index: number;
  attempt: number;
  open(): Promise<Message | undefined>;
}

/**
 * Splits requests one after another, beside the other calls of the delivery, so that a slow split delays nobody else. One
 * request at a time is open, as it is up to 4 MiB, and a Worker has 128 MB.
 *
 * @returns the answers, and the calls of messages that are large by their contexts alone: split again, each would come
 * back as large as it was
 */
async function splitAll(
  splits: readonly Split[],
  deps: DialerDeps,
  deadline: number,
): Promise<{ answers: Map<number, AckOrRetry>; few: Map<number, WantedCall[]> }> {
  const answers = new Map<number, AckOrRetry>();
  const few = new Map<number, WantedCall[]>();
  let splitCalls = 0;
  for (const { index, attempt, open } of splits) {
    if (splitCalls >= splitCallsMax || deps.clock.now() + splitMsMin > deadline) {
      answers.set(index, { retryAfterSeconds: 1 });
      continue;
    }
    const message = await open();
    if (message === undefined) answers.set(index, retryLater(attempt));
    else if (message.kind === "outcome") answers.set(index, await settle(message, attempt, deps));
    else if (message.kind === "calls" && message.calls.length > messageCallsMax) {
      splitCalls += message.calls.length;
      answers.set(index, await splitRequest(message, attempt, deps, deadline));
    } else if (message.kind === "calls") {
      few.set(
        index,
        callsOf(message).map((call) => ({ id: call.id, call })),
      );
    } else answers.set(index, "ack"); // hints are never large; their rows are due, and sweeps find them
  }
  return { answers, few };
}

async function dial(
  wanted: WantedCall[],
  deps: DialerDeps,
  deadline: number,
): Promise<Set<string>> {
  try {
    return await dialCalls(wanted, deps, deadline);
  } catch (error) {
    deps.log("alarm", "ledger.unreachable", { count: wanted.length, error: errorForLog(error) });
    return new Set(wanted.map(({ id }) => id));
  }
}

async function settle(
  { settlement }: Extract<Message, { kind: "outcome" }>,
  attempt: number,
  deps: DialerDeps,
): Promise<AckOrRetry> {
  try {
    await settleOutcome(settlement, deps);
    return "ack";
  } catch (error) {
    deps.log("alarm", "ledger.unreachable", { call_id: settlement.id, error: errorForLog(error) });
    return retryLater(attempt);
  }
}
