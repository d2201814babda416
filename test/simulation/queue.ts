import { consumeCalls, consumeEvents } from "#test/support/entries.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { storeDeadLetters } from "#functions/api/actions/store-dead-letters.ts";
import type * as z from "#shared/lib/zod.ts";
import type { AckOrRetry, CallQueue, Delivered } from "#shared/ports/queue.ts";
import { type EventMessage, eventMessageSchema } from "#shared/ports/event-messages.ts";
import {
  toJson,
  type MessageText,
  type Message,
  messageSchema,
} from "#shared/ports/call-messages.ts";
import { chainMax, continueChains, traceNow } from "./chains.ts";
import { ask, type Faults } from "./outside.ts";
import type { Processes } from "./processes.ts";
import type { World } from "./world.ts";

interface Queued {
  id: string;
  json: string;
  attempt: number;
  visibleAt: number;
  /** The chain of invocations that has sent it. */
  trace: string;
}

export interface QueueTraits {
  /** Maximum concurrent dialers, and maximum messages of a delivery. */
  consumers: number;
  lifeMs: number;
  batchSize: number;
  /** Time for which a delivered message is hidden from other consumers; shorter than a delivery may take. */
  visibilityMs: number;
  /** Number of deliveries after which a message becomes a dead letter. */
  attemptsMax: number;
  /** Probability that a sent message is doubled, or that a delivered message stays visible. */
  double: number;
  /** Probability that a delivery's result is lost. */
  lostResult: number;
  /** Maximum delay of a message beyond the requested one. */
  lateMs: number;
  /** Probability that only some of many messages are taken. */
  partial: number;
}

/** The messages of a queue, the function that handles its deliveries, and its dead-letter queue. */
export interface QueueUse<Sent> {
  /** Text before the names of the queue's steps and functions. */
  prefix: string;
  schema: z.ZodMiniType<Sent>;
  handle(delivered: Delivered[], deps: DialerDeps, deadline: number): Promise<AckOrRetry[]>;
  deadQueue: string;
}

export const callsUse: QueueUse<Message> = {
  prefix: "",
  schema: messageSchema,
  handle: consumeCalls,
  deadQueue: "calls-dead",
};

export const eventsUse: QueueUse<EventMessage> = {
  prefix: "events: ",
  schema: eventMessageSchema,
  handle: consumeEvents,
  deadQueue: "calls-events-dead",
};

/** Size above which bodies lie in object storage. */
const inlineBytesMax = 6_000;

/**
 * Creates a queue that delivers at least once: doubled, late, out of order, and again while the first
 * delivery still runs. It runs a function of the dialer for each delivery.
 */
export function createSimulatedQueue<Sent>(
  world: World,
  faults: () => Faults,
  traits: () => QueueTraits,
  processes: Pick<Processes, "run">,
  { prefix, schema, handle, deadQueue }: QueueUse<Sent>,
) {
  let waiting: Queued[] = [];
  let dead: Queued[] = [];
  let running = 0;
  let sent = 0;
  const stats = { again: 0, doubled: 0 };
  /** All messages that were ever taken, and when. */
  const seen: Sent[] = [];
  const seenAt: number[] = [];
  const thrown: string[] = [];

  const put = (message: Sent | MessageText, delaySeconds: number) => {
    const json = toJson(message);
    seen.push(schema.parse(JSON.parse(json)));
    seenAt.push(world.now());
    const copies = world.chance(traits().double) ? 2 : 1;
    stats.doubled += copies - 1;
    for (let copy = 0; copy < copies; copy++) {
      const late = world.chance(0.1) ? traits().lateMs : 500;
      const visibleAt = world.now() + delaySeconds * 1000 + Math.round(world.random() * late);
      const trace = traceNow(world);
      waiting.push({ id: `message-${++sent}`, json, attempt: 0, visibleAt, trace });
      wakeAt(visibleAt);
    }
  };
  const wakeAt = (at: number) =>
    world.after(Math.max(0, at - world.now()), `${prefix}the queue delivers`, pump);

  const opened = async (json: string): Promise<string> => {
    if (json.length <= inlineBytesMax) return json;
    return ask(world, faults(), `${prefix}storage`, async () => json);
  };
  const deliveredOf = ({ id, json, attempt }: Queued): Delivered => ({
    attempt,
    id,
    open: () => opened(json),
  });

  function pump(): void {
    const { consumers, batchSize, visibilityMs, attemptsMax, double } = traits();
    while (running < consumers) {
      const visible = waiting.filter(({ visibleAt }) => visibleAt <= world.now());
      if (visible.length === 0) return;
      const order = visible
        .map((queued) => ({ queued, order: world.random() }))
        .toSorted((a, b) => a.order - b.order);
      const some = order
        .slice(0, 1 + Math.floor(world.random() * batchSize))
        .map(({ queued }) => queued);
      for (const queued of some) {
        queued.attempt += 1;
        if (queued.attempt > 1) stats.again += 1;
        queued.visibleAt = world.now() + (world.chance(double) ? 1 : visibilityMs);
        if (queued.attempt > attemptsMax) {
          waiting = waiting.filter((one) => one !== queued);
          dead.push({ ...queued, attempt: 0, visibleAt: 0 });
          world.after(1000, "a dead letter", settleDeadLetter);
        } else wakeAt(queued.visibleAt);
      }
      const live = some.filter(({ attempt }) => attempt <= attemptsMax);
      if (live.length > 0) deliver(live);
    }
  }

  function deliver(messages: Queued[]): void {
    running += 1;
    const end = (answers: AckOrRetry[] | undefined) => {
      running -= 1;
      for (const [index, queued] of messages.entries()) {
        const answer = answers?.[index];
        if (answer === undefined || world.chance(traits().lostResult)) continue;
        if (answer === "ack") waiting = waiting.filter((one) => one !== queued);
        else {
          queued.visibleAt = world.now() + answer.retryAfterSeconds * 1000;
          wakeAt(queued.visibleAt);
        }
      }
      pump();
    };
    processes
      .run(`${prefix}dialer`, traits().lifeMs, async (deps, deadline) => {
        const chain = continueChains(
          world,
          messages.map(({ trace }) => trace),
        );
        if (chain > chainMax) thrown.push(`chain: ${chain} invocations of the dialer`);
        const answers = await handle(messages.map(deliveredOf), deps, deadline);
        await world.wait(world.between(1, 100), "the delivery's result");
        return answers;
      })
      .then(end, (error: unknown) => {
        thrown.push(`thrown: by the ${prefix}dialer, ${String(error)}`);
        end(undefined);
      });
  }

  function settleDeadLetter(): void {
    const letter = dead.find(({ visibleAt }) => visibleAt <= world.now());
    if (letter === undefined) return;
    letter.attempt += 1;
    letter.visibleAt = world.now() + traits().visibilityMs;
    const wake = () => {
      const next = Math.min(...dead.map(({ visibleAt }) => visibleAt));
      if (dead.length > 0) {
        world.after(Math.max(1000, next - world.now()), "a dead letter again", settleDeadLetter);
      }
    };
    const end = (answers: AckOrRetry[] | undefined) => {
      const answer = answers?.[0];
      if (answer === "ack") dead = dead.filter((one) => one !== letter);
      else if (answer !== undefined) {
        letter.visibleAt = world.now() + answer.retryAfterSeconds * 1000;
      }
      // Another delivery may have been waiting for this one.
      wake();
    };
    processes
      .run(`${prefix}undertaker`, traits().lifeMs, (deps) =>
        storeDeadLetters(deadQueue, [{ ...deliveredOf(letter), envelope: letter.json }], deps),
      )
      .then(end, (error: unknown) => {
        thrown.push(`thrown: by the ${prefix}undertaker, ${String(error)}`);
        end(undefined);
      });
  }

  const queue: CallQueue<Sent> = {
    send: (message, delaySeconds = 0) =>
      ask(world, faults(), `${prefix}send`, async () => put(message, delaySeconds)),
    sendMany: (all) =>
      ask(world, faults(), `${prefix}sendMany`, async () => {
        const isPartial = world.chance(traits().partial);
        const taken = isPartial ? Math.floor(world.random() * all.length) : all.length;
        for (const [index, { message, delaySeconds = 0 }] of all.entries()) {
          // The messages behind the first failed one may or may not have been taken.
          if (index < taken || world.chance(0.3)) put(message, delaySeconds);
        }
        return taken;
      }),
  };
  return {
    queue,
    stats,
    seen,
    seenAt,
    thrown,
    /** Delivers a message again that was delivered before. */
    repeat: (message: Sent) => put(message, 0),
    /** Returns true if no message is left to deliver. */
    isQuiet: () => waiting.length === 0 && dead.length === 0 && running === 0,
  };
}
