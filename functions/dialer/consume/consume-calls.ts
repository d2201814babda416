import type { Settlement } from "#shared/calls/transitions.ts";
import { errorForLog } from "#shared/lib/log.ts";
import {
  type CallsMessage,
  toCalls,
  type Message,
  messageCallsMax,
  messageSchema,
} from "#shared/ports/call-messages.ts";
import { OtherKeyError } from "#shared/policy/number-entries.ts";
import type { AckOrRetry, Delivered } from "#shared/ports/queue.ts";
import { dialCalls, type RequestedCall } from "../dial/dial-calls.ts";
import { settleOutcome } from "../record/settle.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { watchHeartbeat } from "../runtime/epoch.ts";
import { chooseArms } from "./choose-arms.ts";
import { openMessage } from "./open-message.ts";
import { retryLater } from "../runtime/retry-later.ts";
import { splitRequest } from "./split-request.ts";

/** Work that a message asks for. */
type Work =
  | { kind: "settle"; settlement: Settlement }
  | { kind: "split"; request: CallsMessage }
  | { kind: "dial"; calls: RequestedCall[] };

/**
 * Handles one delivery of the call queue, and alone decides if its messages are acknowledged or retried. Never throws.
 * Both platforms deliver one message at a time, so that quick calls share no delivery with slow ones.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function consumeCalls(
  delivered: readonly Delivered[],
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry[]> {
  const [answers] = await Promise.all([
    answerAll(delivered, deps, deadline),
    watchHeartbeat(deps).catch(() => undefined), // other work on the ledger logs its failure
  ]);
  return answers;
}

async function answerAll(
  delivered: readonly Delivered[],
  deps: DialerDeps,
  deadline: number,
): Promise<AckOrRetry[]> {
  const works = await Promise.all(
    delivered.map(async (one) => {
      const message = await openMessage(one, messageSchema, deps);
      return { attempt: one.attempt, work: message && (await findWork(message, deps)) };
    }),
  );
  const requested = works.flatMap(({ work }) => (work?.kind === "dial" ? work.calls : []));
  const undone = await dial(mergeById(requested), deps, deadline);

  const finish = async (
    work: Work | undefined,
    attempt: number,
  ): ReturnType<typeof splitRequest> => {
    if (work === undefined) return false; // the message, or what its calls depend on, could not be read
    if (work.kind === "dial") return !work.calls.some(({ id }) => undone.has(id));
    if (work.kind === "settle") return settle(work.settlement, deps);
    return splitRequest(work.request, { attempt, deadline }, deps);
  };
  const answers: AckOrRetry[] = [];
  for (const { work, attempt } of works) {
    const done = await finish(work, attempt);
    if (typeof done === "object") answers.push(done);
    else answers.push(done ? "ack" : retryLater(attempt));
  }
  return answers;
}

/** Returns which work a message asks for. Undefined: the ledger cannot be reached. */
async function findWork(message: Message, deps: DialerDeps): Promise<Work | undefined> {
  if (message.kind !== "calls") return classify(message);
  try {
    return classify(await chooseArms(message, deps));
  } catch (error) {
    const request_id = message.requestId;
    deps.log("alarm", "ledger.unreachable", { request_id, error: errorForLog(error) });
    return undefined;
  }
}

/** Decides which work a message asks for. A request of more than 25 calls is split into rows, which wait for a turn. */
function classify(message: Message): Work {
  switch (message.kind) {
    case "outcome":
      return { kind: "settle", settlement: message.settlement };
    case "dispatch":
      return { kind: "dial", calls: message.rows.map(({ id, account }) => ({ id, account })) };
    case "calls":
      return message.calls.length > messageCallsMax
        ? { kind: "split", request: message }
        : { kind: "dial", calls: toCalls(message).map((call) => ({ id: call.id, call })) };
  }
}

/** Returns each id once, with its call and account if any message of the delivery has them. */
function mergeById(requested: readonly RequestedCall[]): RequestedCall[] {
  const byId = new Map<string, RequestedCall>();
  for (const { id, call, account } of requested) {
    const known = byId.get(id);
    byId.set(id, { id, call: call ?? known?.call, account: account ?? known?.account });
  }
  return [...byId.values()];
}

/** Dials calls. Resolves to the ids of those whose messages must be retried. */
async function dial(
  requested: RequestedCall[],
  deps: DialerDeps,
  deadline: number,
): Promise<Set<string>> {
  try {
    return await dialCalls(requested, deps, deadline);
  } catch (error) {
    const fields = { count: requested.length, error: errorForLog(error) };
    if (error instanceof OtherKeyError) deps.log("alarm", "hash_key.missing", fields);
    else deps.log("alarm", "ledger.unreachable", fields);
    return new Set(requested.map(({ id }) => id));
  }
}

/** Writes a settlement. Resolves to false if the ledger could not be reached. */
async function settle(
  settlement: Settlement,
  deps: Pick<DialerDeps, "ledger" | "documents" | "clock" | "random" | "log" | "memory">,
): Promise<boolean> {
  try {
    await settleOutcome(settlement, deps);
    return true;
  } catch (error) {
    deps.log("alarm", "ledger.unreachable", { call_id: settlement.id, error: errorForLog(error) });
    return false;
  }
}
