import type { DialerDeps, DialerSettings } from "../../functions/dialer/dialer.ts";
import { handleDelivery } from "../../functions/dialer/handle-delivery.ts";
import type { Call } from "../../shared/call.ts";
import { type DialPlan, parseDialPlan } from "../../shared/dial-plan.ts";
import type { CallLedger, CallRow } from "../../shared/ledger/call-ledger.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import type { LogFields } from "../../shared/log.ts";
import { type Message, messageSchema } from "../../shared/message.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";
import type { CallQueue, Disposition } from "../../shared/queue/call-queue.ts";
import { testPlan } from "./environment.ts";

export interface LoggedEvent extends LogFields {
  level: string;
  event: string;
}

interface Waiting {
  json: string;
  attempt: number;
  visibleAt: number;
}

/**
 * The dialer's core over a queue, a ledger and a provider in memory, under a clock that only the test moves
 * (and sleeping does). Messages that are handed back come again after their delay, as from a real queue.
 */
export function createDialerBench(more: { plan?: object; lanes?: number } = {}) {
  let now = 1_000_000;
  let ids = 0;
  let waiting: Waiting[] = [];
  const events: LoggedEvent[] = [];
  const dialed: { call: Call; route: Route }[] = [];
  const memory = createMemoryLedger();
  const plan: DialPlan = parseDialPlan({ ...testPlan, ...more.plan }, {});

  const bench = {
    plan,
    events,
    /** What the provider was sent, in order. */
    dialed,
    /** The ledger, unwrapped by any fault. */
    rows: memory,
    /** How the provider answers; a test sets it. */
    answer: async (_call: Call, _route: Route): Promise<DialOutcome> => ({ kind: "placed" }),
    now: () => now,
    advance(ms: number) {
      now += ms;
    },
    /** The core's dependencies; a test may replace any. */
    get deps(): DialerDeps {
      return deps;
    },
    async send(...messages: Message[]) {
      for (const message of messages) await queue.send(message);
    },
    /** Puts a body onto the queue that no sender of ours would. */
    sendBody(body: unknown) {
      waiting.push({ json: JSON.stringify(body), attempt: 1, visibleAt: now });
    },
    /** Messages on the queue, delayed ones too. */
    queued: (): Message[] => waiting.map(({ json }) => messageSchema.parse(JSON.parse(json))),
    delays: () => waiting.map(({ visibleAt }) => (visibleAt - now) / 1000),
    /** Delivers everything visible in one delivery; answers with what was said of each message. */
    async deliver(deadlineMs = 900_000): Promise<Disposition[]> {
      const visible = waiting.filter(({ visibleAt }) => visibleAt <= now);
      waiting = waiting.filter(({ visibleAt }) => visibleAt > now);
      const dispositions = await handleDelivery(
        visible.map(({ json, attempt }) => ({
          attempt,
          large: json.length > 1_000_000,
          open: async () => JSON.parse(json) as unknown,
        })),
        bench.deps,
        now + deadlineMs,
      );
      for (const [index, { json, attempt }] of visible.entries()) {
        const disposition = dispositions[index];
        if (disposition === undefined || disposition === "acknowledge") continue;
        const visibleAt = now + disposition.retryAfterSeconds * 1000;
        waiting.push({ json, attempt: attempt + 1, visibleAt });
      }
      return dispositions;
    },
    /** Lets time pass, a second at a time, delivering what comes and sweeping once a minute. */
    async run(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        if (second % 60 === 0) await queue.send({ kind: "sweep" });
        if (waiting.some(({ visibleAt }) => visibleAt <= now)) await bench.deliver();
        now += 1000;
      }
    },
    async row(id: string): Promise<CallRow | undefined> {
      return (await memory.read([id])).get(id);
    },
    /** Makes the ledger do something else in the named method's stead. */
    breakLedger(faults: Partial<CallLedger>) {
      bench.deps.ledger = { ...memory, ...faults };
    },
    mendLedger() {
      bench.deps.ledger = memory;
    },
    eventsOf: (event: string) => events.filter((one) => one.event === event),
  };
  const queue: CallQueue = {
    async send(message, delaySeconds = 0) {
      const visibleAt = now + delaySeconds * 1000;
      waiting.push({ json: JSON.stringify(message), attempt: 1, visibleAt });
    },
    async sendMany(messages) {
      for (const { message, delaySeconds } of messages) await queue.send(message, delaySeconds);
      return messages.length;
    },
  };
  const settings: DialerSettings = {
    plan,
    hashKey: "5f".repeat(32),
    sweepSeconds: 60,
    providers: {
      async dial(call, route) {
        dialed.push({ call, route });
        return bench.answer(call, route);
      },
    },
  };
  const deps: DialerDeps = {
    queue,
    ledger: memory,
    settings: { value: settings },
    clock: {
      now: () => now,
      async sleep(ms) {
        now += ms;
      },
    },
    random: { token: () => `token_${++ids}`, fraction: () => 0.5 },
    lanes: more.lanes ?? 5,
    log: (level, event, fields) => events.push({ level, event, ...fields }),
  };
  return bench;
}
