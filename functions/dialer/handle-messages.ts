import { errorForLog } from "../../shared/platform/log.ts";
import type { AckOrRetry, Delivered } from "../../shared/queue/call-queue.ts";
import {
  callsOf,
  type Message,
  messageCallsMax,
  messageSchema,
} from "../../shared/queue/messages.ts";
import { withTimeLimit } from "../../shared/platform/time-limit.ts";
import { dialCalls, type WantedCall } from "./dial-calls.ts";
import type { DialerDeps } from "./context.ts";
import { queueSecondsMax, withPortLimits } from "./wiring.ts";
import { retryLater } from "./retry.ts";
import { settleOutcome } from "./settle.ts";
import { splitRequest } from "./split-request.ts";
import { watchHeartbeat } from "./sweep.ts";

/** Calls that one delivery splits, approximately. Messages beyond that come again soon, unopened. */
const splitCallsMax = 20_000;

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
  let splitCalls = 0;
  for (const [index, { attempt, large, open }] of delivered.entries()) {
    if (large && splitCalls >= splitCallsMax) {
      answers[index] = { retryAfterSeconds: 1 };
      continue;
    }
    const message = await openMessage(open, attempt, ready);
    if (message === undefined) answers[index] = retryLater(attempt);
    else if (message.kind === "outcome") {
      answers[index] = await settle(message, attempt, ready);
    } else if (message.kind === "calls" && message.calls.length > messageCallsMax) {
      // Requests are split one at a time: each is up to 4 MiB, and a Worker has 128 MB.
      splitCalls += message.calls.length;
      answers[index] = await splitRequest(message, attempt, ready);
    } else {
      const calls: WantedCall[] =
        message.kind === "due"
          ? message.ids.map((id) => ({ id }))
          : callsOf(message).map((call) => ({ id: call.id, call }));
      idsOf[index] = calls.map(({ id }) => id);
      // Each id appears once, with its call if any of its messages carries that.
      for (const { id, call } of calls) {
        wanted.set(id, { id, call: call ?? wanted.get(id)?.call });
      }
    }
  }
  const [again] = await Promise.all([
    dial([...wanted.values()], ready, deadline),
    watchHeartbeat(ready).catch(() => undefined), // the deliveries report a ledger that fails
  ]);
  return delivered.map(({ attempt }, index) => {
    const isAgain = idsOf[index]?.some((id) => again.has(id)) === true;
    return answers[index] ?? (isAgain ? retryLater(attempt) : "ack");
  });
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

/**
 * Resolves to the message, or to undefined if it cannot be fetched or parsed: it is then retried, and ends as
 * a dead letter.
 */
export async function openMessage(
  open: Delivered["open"],
  attempt: number,
  { log }: Pick<DialerDeps, "log">,
): Promise<Message | undefined> {
  try {
    return messageSchema.parse(JSON.parse(await withTimeLimit(open(), queueSecondsMax)));
  } catch (error) {
    log("alarm", "message.unreadable", { attempt, error: errorForLog(error) });
    return undefined;
  }
}
