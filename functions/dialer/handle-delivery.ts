import type { Settlement } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import { type Message, messageSchema } from "../../shared/message.ts";
import type { Delivered, Disposition } from "../../shared/queue/call-queue.ts";
import { dialCalls, type WantedCall } from "./dial-calls.ts";
import { type DialerDeps, handBack, type ReadyDeps } from "./dialer.ts";
import { splitBatch } from "./split-batch.ts";
import { sweep } from "./sweep.ts";

/**
 * Calls that one delivery splits, at most: each hundred is a request to the queue, and an invocation may
 * make a thousand. Further batches come again at once, whole.
 */
const splitCallsMax = 30_000;

/**
 * Handles one delivery of the call queue and says of each message whether it is done with or comes again:
 * the one place where that is decided. Never throws.
 *
 * @param deadline when the invocation ends, in milliseconds since the epoch
 */
export async function handleDelivery(
  delivered: Delivered[],
  deps: DialerDeps,
  deadline: number,
): Promise<Disposition[]> {
  const { settings, log } = deps;
  const all = () => delivered.map(({ attempt }) => handBack(attempt));
  if ("problem" in settings) {
    log("alarm", "dialer.not_configured", { problem: settings.problem, count: delivered.length });
    return all();
  }
  const ready: ReadyDeps = { ...deps, settings: settings.value };
  const dispositions = all();
  const wanted = new Map<string, { call: WantedCall; indexes: number[] }>();
  const outcomes: { settlement: Settlement; index: number }[] = [];
  let swept = false;
  let splitCalls = 0;

  for (const [index, { attempt, open }] of delivered.entries()) {
    const message = await openMessage(open, attempt, deps);
    if (message === undefined) continue;
    switch (message.kind) {
      case "batch":
        // One at a time: a batch is up to 4 MiB, and a Worker has 128 MB.
        splitCalls += message.calls.length;
        dispositions[index] =
          splitCalls > splitCallsMax && splitCalls > message.calls.length
            ? { retryAfterSeconds: 1 }
            : await splitBatch(message, attempt, ready);
        break;
      case "sweep":
        // Of several minutes that piled up while nothing was delivered, one is enough.
        if (message.after !== undefined || !swept) await sweep(message.after, ready);
        swept ||= message.after === undefined;
        dispositions[index] = "acknowledge";
        break;
      case "outcome":
        outcomes.push({ settlement: message.settlement, index });
        break;
      case "call":
      case "due": {
        const call = message.kind === "call" ? { ...message.call } : undefined;
        const id = call?.id ?? (message.kind === "due" ? message.id : "");
        const known = wanted.get(id) ?? { call: { id }, indexes: [] };
        if (call !== undefined) known.call = { id, call };
        known.indexes.push(index);
        wanted.set(id, known);
        break;
      }
    }
  }

  const done = (index: number) => {
    dispositions[index] = "acknowledge";
  };
  await settleOutcomes(outcomes, ready, done);
  try {
    const calls = [...wanted.values()];
    const results = await dialCalls(
      calls.map(({ call }) => call),
      ready,
      deadline,
    );
    for (const { call, indexes } of calls) {
      if (results.get(call.id) === "done") for (const index of indexes) done(index);
    }
  } catch (error) {
    log("alarm", "ledger.unreachable", { count: wanted.size, error: errorForLog(error) });
  }
  return dispositions;
}

/** The message, or undefined where it cannot be brought or read: it comes again, at last as a dead letter. */
export async function openMessage(
  open: Delivered["open"],
  attempt: number,
  { log }: Pick<DialerDeps, "log">,
): Promise<Message | undefined> {
  try {
    return messageSchema.parse(await open());
  } catch (error) {
    log("alarm", "message.unreadable", { attempt, error: errorForLog(error) });
    return undefined;
  }
}

async function settleOutcomes(
  outcomes: { settlement: Settlement; index: number }[],
  { ledger, log }: ReadyDeps,
  done: (index: number) => void,
): Promise<void> {
  if (outcomes.length === 0) return;
  try {
    const settled = await ledger.settle(outcomes.map(({ settlement }) => settlement));
    for (const [at, { settlement, index }] of outcomes.entries()) {
      const { id: call_id, state, reason } = settlement;
      const event = settled[at] === true ? "call.settled_late" : "call.settlement_refused";
      log("warning", event, { call_id, state, reason });
      done(index);
    }
  } catch (error) {
    log("alarm", "ledger.unreachable", { count: outcomes.length, error: errorForLog(error) });
  }
}
