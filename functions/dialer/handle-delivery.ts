import type { Settlement } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import { type Message, messageSchema } from "../../shared/message.ts";
import type { Delivered, Disposition } from "../../shared/queue/call-queue.ts";
import { dialCalls, type WantedCall } from "./dial-calls.ts";
import { type DialerDeps, handBack, type ReadyDeps, writeCounts } from "./dialer.ts";
import { splitBatch } from "./split-batch.ts";
import { sweep } from "./sweep.ts";

/**
 * Calls that one delivery splits, about: each hundred is a request to the queue, and an invocation may make a
 * thousand; a batch takes up to a second to read. Further ones come again soon, unopened.
 */
const splitCallsMax = 20_000;

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
  /** Each id once, with its call where any of its messages brings that. */
  const want = (call: WantedCall, index: number) => {
    const before = wanted.get(call.id);
    const indexes = [...(before?.indexes ?? []), index];
    wanted.set(call.id, { call: { ...before?.call, ...call }, indexes });
  };
  let swept = false;
  let splitCalls = 0;

  for (const [index, { attempt, large, open }] of delivered.entries()) {
    if (large && splitCalls >= splitCallsMax) {
      dispositions[index] = { retryAfterSeconds: 1 };
      continue;
    }
    const message = await openMessage(open, attempt, deps);
    if (message === undefined) continue;
    switch (message.kind) {
      case "batch":
        // One at a time: a batch is up to 4 MiB, and a Worker has 128 MB.
        splitCalls += message.calls.length;
        dispositions[index] = await splitBatch(message, attempt, ready);
        break;
      case "sweep":
        // Of several minutes that piled up while nothing was delivered, one is enough.
        if (message.after !== undefined || message.since === 0 || !swept)
          await sweep(message, ready);
        swept ||= message.after === undefined;
        dispositions[index] = "acknowledge";
        break;
      case "outcome":
        outcomes.push({ settlement: message.settlement, index });
        break;
      case "call":
        want({ id: message.call.id, call: message.call }, index);
        break;
      case "due":
        want({ id: message.id }, index);
        break;
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
  await writeCounts(deps);
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
  deps: ReadyDeps,
  done: (index: number) => void,
): Promise<void> {
  if (outcomes.length === 0) return;
  try {
    await settleLate(
      outcomes.map(({ settlement }) => settlement),
      deps,
    );
    for (const { index } of outcomes) done(index);
  } catch (error) {
    deps.log("alarm", "ledger.unreachable", { count: outcomes.length, error: errorForLog(error) });
  }
}

/** Settles what the ledger would not take at the time. */
export async function settleLate(settlements: Settlement[], { ledger, log }: ReadyDeps) {
  const settled = await ledger.settle(settlements);
  for (const [index, { id: call_id, state, reason }] of settlements.entries()) {
    const event = settled[index] === true ? "call.settled_late" : "call.settlement_refused";
    log("warning", event, { call_id, state, reason });
  }
}
