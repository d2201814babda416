import { consumeCalls, consumeEvents, dispatch, sweep, upkeep } from "#test/support/entries.ts";
import { createMemoryJournal } from "../support/memory-journal.ts";
import { settingsUnder } from "../support/dialer-parts.ts";
import { createMemoryDeadLetters } from "../support/memory-dead-letters.ts";
import { createMemoryEpochStore } from "../support/memory-epoch-store.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { createApp } from "#functions/api/app.ts";
import type {
  DialerDeps,
  DialerSettings,
  DispatcherTraits,
} from "#functions/dialer/runtime/context.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { systemClock } from "#functions/dialer/wiring.ts";
import { type CallRequest, accountNameOf } from "#shared/calls/call-request.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import { createRequestId } from "#shared/calls/ids.ts";
import { parseDialPlan } from "../support/plans.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import type { Log } from "#shared/lib/log.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import type { CallQueue, Delivered } from "#shared/ports/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { type CallsMessage, type Message, messageCallsMax } from "#shared/ports/call-messages.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "../support/api.ts";
import { apiEnvironment, testPlan, tokens } from "../support/environment.ts";
import { jsonRequest } from "../support/json-request.ts";
import { type Answers, createAnswerTimes } from "./answers.ts";
import { type Meter, withStages } from "./meter.ts";

/** Creates a clock that can be set, and runs on from there. */
export function createClock() {
  let aheadMs = 0;
  return {
    /** Current time in milliseconds since the epoch. */
    now: () => Date.now() + aheadMs,
    set(at: number): void {
      aheadMs = at - Date.now();
    },
  };
}
export type Clock = ReturnType<typeof createClock>;

/** Stored bytes, without the overhead that one of the platforms bills. */
export interface Stored {
  all: number;
  /** Bytes without the indexes, as in a backup. */
  table: number;
}

/** A queue whose engine runs here, with counted requests. */
export interface CountedQueue<Sent> {
  queue: CallQueue<Sent>;
  /** Returns the number of messages on the queue. */
  waiting(): number;
  /** Time at which the next message's delay is over, in milliseconds since the epoch. Infinity: there is none. */
  nextAt(): number;
  /** Takes the oldest messages off the queue as one delivery: those whose delay is over by `readyBy`, or all. */
  deliver(count: number, readyBy?: number): Delivered[];
}

/** A platform whose engines run here, with counted requests. */
export interface CountedPlatform extends CountedQueue<Message> {
  name: "Cloudflare" | "AWS";
  ledger: CallLedger;
  documents: Documents;
  events: CountedQueue<EventMessage>;
  /** Clock that decides the expiry of documents, and the end of messages' delays. */
  clock: Clock;
  /** Messages per delivery, if enough are waiting. */
  deliverySize: number;
  /** Requests of one delivery under way at once. */
  concurrency: number;
  /** Deliveries at once. */
  consumers: number;
  /** Limits of dispatchers, as on the platform. */
  dispatcher: DispatcherTraits;
  stored(): Stored;
  stop(): Promise<void>;
}

const togetherMs = 5;
/** Time after which a dispatcher of a bench ends, whatever is left. */
const handOutMsMax = 300_000;
/** Maximum deliveries in which what is on the events queue ends. */
const eventDeliveriesMax = 10_000;

/** Returns the n-th of many calls, with the context of an ordinary one. */
export function requestOf(n: number): CallRequest {
  return {
    phone_number: `+1212${2_000_000 + n}`,
    agent_id: "agent_sales",
    context: {
      name: "Ada Lovelace",
      appointment: "2026-06-02T14:30",
      practice: "Harbor Street Dental",
      reason: "six-month check-up",
    },
    timezone: "America/New_York",
  };
}

/** Creates a provider that places and counts every call. */
function createProvider(meter: Meter) {
  let answers: Answers = "together";
  let answerMs: number[] = [];
  let nextMs = createAnswerTimes(1);
  let next: Promise<void> | undefined;
  return {
    /** Sets the order of answers. Every call restarts the same sequence of response times. */
    setAnswers(which: Answers): void {
      answers = which;
      answerMs = [];
      nextMs = createAnswerTimes(1);
    },
    /** Returns the response times of separate answers, in the order of the requests, in milliseconds. */
    answerMs: (): readonly number[] => answerMs,
    async dial(): Promise<DialOutcome> {
      meter.add("providerRequests");
      if (answers === "apart") {
        const ms = nextMs();
        answerMs.push(ms);
        await sleep(ms);
      } else {
        next ??= sleep(togetherMs).finally(() => (next = undefined));
        await next;
      }
      return { kind: "placed", providerCallId: `CA${randomId()}` };
    },
  };
}

/** Settings of the dialer by which a bench reaches a provider and a receiver of events. */
type Connected = Partial<Pick<DialerSettings, "providerOf" | "postEvent" | "publicUrl">>;

/**
 * Creates the API and the dialer over a platform, in this process, under a clock that can be set. Their
 * requests are counted by stage: `accept`, `split`, `dispatch`, `deliver`, and for the dialer's ports `read`, `claim`,
 * `settle`, `decide` and `documents`.
 */
export function createService(
  platform: CountedPlatform,
  meter: Meter,
  {
    plan: changes = {},
    connected = {},
    secrets = {},
    wait = systemClock.sleep,
  }: {
    plan?: object;
    connected?: Connected;
    /** Secrets of accounts, by which the API verifies callbacks. */
    secrets?: Record<string, string>;
    wait?: DialerDeps["clock"]["sleep"] | undefined;
  } = {},
) {
  const { clock } = platform;
  let lastAlarm = "";
  const log: Log = (level, event, fields) => {
    const line = JSON.stringify({ time: new Date().toISOString(), level, event, ...fields });
    meter.add("logLines");
    meter.add("logBytes", line.length);
    if (level === "alarm") lastAlarm = line;
  };
  const DIAL_PLAN = JSON.stringify({ ...testPlan, ...changes });
  const environment = { ...apiEnvironment, ...secrets, DIAL_PLAN };
  const { ledger, documents } = platform;
  const api = createTestApi({ environment, ledger, documents, now: clock.now });
  const eventsQueue = countedMessages(platform.events.queue, meter);
  const app = createApp({ ...api.deps, queue: platform.queue, eventsQueue, log });
  const provider = createProvider(meter);
  const plan = parseDialPlan({ ...testPlan, ...changes }, {});
  const deps: DialerDeps = {
    queue: platform.queue,
    eventsQueue,
    statementsLeft: () => Infinity,
    ...withStages(platform, meter),
    epochStore: createMemoryEpochStore(),
    journal: createMemoryJournal(),
    deadLetters: {
      ...createMemoryDeadLetters(),
      store: () => Promise.reject(new Error("a message was given up")),
    },
    settings: {
      ...settingsUnder(plan, log),
      providerOf: () => ({ dial: () => provider.dial() }),
      postEvent: () => Promise.reject(new Error("the plan has no receiver")),
      ...connected,
    },
    clock: { now: clock.now, sleep: wait },
    random: { version: randomVersion, fraction: Math.random },
    concurrency: platform.concurrency,
    consumers: platform.consumers,
    dispatcher: platform.dispatcher,
    sweepSeconds: 60,
    log,
    memory: createDialerMemory(),
  };

  async function handle(delivered: Delivered[]): Promise<void> {
    const answers = await consumeCalls(delivered, deps, clock.now() + 870_000);
    const again = answers.filter((one) => one !== "ack").length;
    if (again > 0) throw new Error(`${again} messages come again: ${lastAlarm}`);
  }

  return {
    provider,
    /** Posts a call, or a batch of calls. */
    accept(body: CallRequest | CallRequest[], key?: string): Promise<void> {
      return meter.at("accept", async () => {
        meter.add("requests");
        const path = Array.isArray(body) ? "/v1/calls/batch" : "/v1/calls";
        const { status } = await app.request(
          path,
          jsonRequest(
            tokens.crm,
            "POST",
            body,
            key === undefined ? {} : { "idempotency-key": key },
          ),
        );
        if (status !== 201) throw new Error(`${path} was answered ${status}`);
      });
    },
    /** Posts a provider's callback to its address. */
    callback(url: string, body: string, headers: Record<string, string>): Promise<void> {
      return meter.at("accept", async () => {
        meter.add("requests");
        const path = url.slice(apiEnvironment.PUBLIC_URL.length);
        const { status } = await app.request(path, { method: "POST", headers, body });
        if (status !== 204) throw new Error(`a callback was answered ${status}`);
      });
    },
    /**
     * Delivers what is on the events queue now, ten messages at once, and what comes again when its time has come. Counts
     * these deliveries as `eventInvocations`.
     */
    async deliverEvents(): Promise<void> {
      const { events } = platform;
      let held: { one: Delivered; at: number }[] = [];
      for (let deliveries = 0; ; deliveries++) {
        const nextAt = Math.min(events.nextAt(), ...held.map(({ at }) => at));
        const isOver = held.length === 0 && nextAt > clock.now();
        if (isOver) return;
        if (deliveries > eventDeliveriesMax) throw new Error(`events come again: ${lastAlarm}`);
        clock.set(Math.max(clock.now(), nextAt));
        const now = clock.now();
        const again = held.filter(({ at }) => at <= now).slice(0, 10);
        held = held.filter((one) => !again.includes(one));
        const some = [...again.map(({ one }) => one), ...events.deliver(10 - again.length, now)];
        meter.add("eventInvocations");
        const answers = await meter.at("events", () => consumeEvents(some, deps, now + 120_000));
        for (const [index, one] of some.entries()) {
          const answer = answers[index];
          if (answer === undefined || answer === "ack") continue;
          const at = clock.now() + answer.retryAfterSeconds * 1000;
          held.push({ one: { ...one, attempt: one.attempt + 1 }, at });
        }
      }
    },
    /** Makes the plan's accounts known as quick, as they are once they have answered. */
    async know(): Promise<void> {
      const accounts = new Set(Object.values(plan.agents).map(accountNameOf));
      for (const key of accounts) {
        const account = { kind: "account" as const, key };
        const current = (await platform.documents.read([account])).get("account", key);
        const value = { busy: false, quick: true };
        const next = { ...account, value, expiresAt: null, version: randomVersion() };
        await platform.documents.write([{ next, seen: current?.version ?? null }]);
      }
    },
    /** Hands out the rows of calls that wait, in full messages. */
    async dispatchAll(count: number): Promise<void> {
      const [route] = Object.values(plan.agents);
      const key = backlogOf({ client: "crm", agentId: requestOf(0).agent_id });
      const due = { lanes: [{ key }], until: Number.MAX_SAFE_INTEGER, each: count };
      const [rows = []] = await platform.ledger.due(due);
      if (route === undefined || rows.length !== count) throw new Error("not every call waits");
      const account = accountNameOf(route);
      for (let start = 0; start < count; start += messageCallsMax) {
        const some = rows.slice(start, start + messageCallsMax).map(({ id }) => ({ id, account }));
        await platform.queue.send({ kind: "dispatch", rows: some });
      }
    },
    /** Runs a dispatcher for this long, at most. */
    dispatch: (ms: number, traits?: Partial<DispatcherTraits>): Promise<void> =>
      meter.at("dispatch", () => {
        const dispatcher = { ...deps.dispatcher, ...traits };
        // Its trips are its own, without the stages of deliveries.
        return dispatch({ ...deps, ledger, documents, dispatcher }, clock.now() + ms);
      }),
    /** Runs a dispatcher until nothing is due, and delivers what it hands out at once. */
    async handOut(): Promise<void> {
      const traits = { endsIdle: true };
      const over = this.dispatch(handOutMsMax, traits).then(() => true);
      for (;;) {
        if (platform.nextAt() <= clock.now()) await this.deliverAll();
        else if (await Promise.race([over, sleep(togetherMs, false)])) return;
      }
    },
    sweep: (): Promise<void> =>
      meter.at("sweep", async () => {
        await sweep(deps, clock.now() + 120_000);
        await upkeep(deps, clock.now() + 120_000);
      }),
    /** Delivers the messages of the queue, `size` at once, one delivery after the other. */
    async deliverAll(size = platform.deliverySize, most = Infinity): Promise<void> {
      for (let done = 0; platform.waiting() > 0 && done < most; done += size) {
        await meter.at("deliver", () => handle(platform.deliver(Math.min(size, most - done))));
      }
    },
    /** Delivers each message once its delay is over. Where none is, the clock goes on to the next one. */
    async deliverInTime(): Promise<void> {
      while (platform.waiting() > 0) {
        clock.set(Math.max(clock.now(), platform.nextAt()));
        const some = platform.deliver(platform.deliverySize, clock.now());
        await meter.at("deliver", () => handle(some));
      }
    },
    /** Delivers one message, which is split. */
    split: (): Promise<void> => meter.at("split", () => handle(platform.deliver(1))),
    /** Dials this many fresh calls in full deliveries, as if they came from the queue. */
    async dial(count: number): Promise<void> {
      const messages = Array.from({ length: Math.ceil(count / messageCallsMax) }, (_, index) =>
        deliveredCalls(messageCallsMax, index * messageCallsMax, clock.now()),
      );
      while (messages.length > 0) {
        const some = messages.splice(0, platform.deliverySize);
        await meter.at("deliver", () => handle(some));
      }
    },
  };
}

/** Wraps the events queue so that its messages are counted as `eventMessages`. */
function countedMessages(queue: CallQueue<EventMessage>, meter: Meter): CallQueue<EventMessage> {
  return {
    send(message, delaySeconds) {
      meter.add("eventMessages");
      return queue.send(message, delaySeconds);
    },
    sendMany(messages) {
      meter.add("eventMessages", messages.length);
      return queue.sendMany(messages);
    },
  };
}

function deliveredCalls(count: number, from: number, acceptedAt: number): Delivered {
  const message: CallsMessage = {
    kind: "calls",
    requestId: createRequestId(acceptedAt, randomId()),
    client: "crm",
    acceptedAt,
    calls: Array.from({ length: count }, (_, index) => ({
      index,
      request: requestOf(from + index),
    })),
  };
  const body = JSON.stringify(message);
  return { attempt: 1, id: message.requestId, open: async () => body };
}
