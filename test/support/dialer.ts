import { consumeCalls, consumeEvents, dispatch, sweep, upkeep } from "./entries.ts";
import { readRow } from "#test/support/reads.ts";
import { asOneInvocation } from "./count-queries.ts";
import { workUnderWay } from "./left-work.ts";
import { createMemoryJournal } from "./memory-journal.ts";
import type { DialerDeps, DialerSettings } from "#functions/dialer/runtime/context.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { type Call, accountNameOf, type Route } from "#shared/calls/call-request.ts";
import type { CallResult } from "#shared/calls/call-result.ts";
import { parseDialPlan } from "./plans.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { settingsUnder } from "./dialer-parts.ts";
import { createMemoryDocuments } from "./memory-documents.ts";
import type { StoredText } from "#shared/ports/document-kinds.ts";
import { createMemoryEpochStore } from "./memory-epoch-store.ts";
import { createMemoryDeadLetters } from "./memory-dead-letters.ts";
import { createMemoryQueue } from "./memory-queue.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { createMemoryLedger } from "./memory-ledger.ts";
import type { Log, LogFields } from "#shared/lib/log.ts";
import { type Send, Withheld } from "#shared/lib/http-client.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { toJson, type Message, messageSchema } from "#shared/ports/call-messages.ts";
import type {
  DialOutcome,
  FoundCall,
  PlacedCall,
  SignedCallback,
  SoughtCall,
  CallbackReport,
} from "#shared/providers/provider.ts";
import type { EventBody } from "#shared/events/outbox-rows.ts";
import type { CheckAnswer } from "#shared/policy/check-answers.ts";
import type { Question } from "#functions/dialer/runtime/ask-check.ts";
import type { EventAnswer } from "#functions/dialer/runtime/post-event.ts";
import type { Signal } from "#shared/traces/collector.ts";
import type { AckOrRetry, CallQueue, Delivered } from "#shared/ports/queue.ts";
import { testPlan } from "./environment.ts";

/** True if providers of this type support look-ups here. */
function hasRecords({ provider }: Route): boolean {
  return provider === "twilio" || provider === "vapi";
}

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
 * Creates the dialer's core over a queue, a ledger and a provider in memory, under a clock that only the test
 * moves (and sleeping does). Messages that are handed back are redelivered after their delay, as from a real
 * queue.
 */
export function createDialerBench(
  more: {
    plan?: object;
    concurrency?: number;
    consumers?: number;
    startAt?: string;
    /** True if no account has answered yet, so that fresh calls wait for a dispatcher. */
    isNew?: boolean;
  } = {},
) {
  let now = more.startAt === undefined ? 1_000_000 : Date.parse(more.startAt);
  let timers: { at: number; wake: () => void }[] = [];
  let ids = 0;
  let waiting: Waiting[] = [];
  let sent = 0;
  const noDelay = (): number => 0;
  let delayOf = noDelay;
  /** Time at which the simulation starts the next dispatcher. */
  let dispatchAt = 0;
  let isSimulating = false;
  let dispatcherOf: () => Partial<DialerDeps> = () => ({});
  /** Deliveries that the simulation has begun. */
  const underWay = new Set<Promise<unknown>>();
  const eventsUnderWay = new Set<Promise<unknown>>();
  const events: LoggedEvent[] = [];
  const dialed: { call: Call; route: Route; at: number; traceparent?: string }[] = [];
  const callbackUrls: (string | undefined)[] = [];
  const asked: (Question & { at: number })[] = [];
  const posted: {
    receiver: string;
    id: string;
    body: EventBody;
    at: number;
    traceparent?: string;
  }[] = [];
  const exported: { signal: Signal; json: string; at: number }[] = [];
  /** The ledger's contents as text. A test may add rows that no version of this code wrote. */
  const stored = new Map<string, { id: string; version: string; json: string }>();
  const memory = createMemoryLedger(stored);
  const version = () => `v${++ids}`;
  const storedDocuments = new Map<string, StoredText>();
  const documents = createMemoryDocuments(() => now, version, storedDocuments);
  const eventsQueue = createMemoryQueue<EventMessage>(() => now);
  /** Dead letters in the object store, by name. */
  const kept = new Map<string, string>();
  const log: Log = (level, event, fields) => events.push({ level, event, ...fields });
  /** Notes that the accounts of a plan have answered quickly, as a service that has dialed before knows. */
  const knowAccounts = ({ agents }: DialPlan) => {
    const names = new Set(Object.values(agents).map(accountNameOf));
    void documents.write(
      [...names].map((key) => ({
        next: {
          kind: "account" as const,
          key,
          version: version(),
          value: { quick: true, busy: false },
          expiresAt: null,
        },
        seen: null,
      })),
    );
  };
  const settingsFor = (planChanges: object): DialerSettings => {
    const plan: DialPlan = parseDialPlan({ ...testPlan, ...planChanges }, {});
    if (more.isNew !== true) knowAccounts(plan);
    return {
      ...settingsUnder(plan, log, now),
      async postEvent(receiver, { id, body, traceparent }) {
        const event = { receiver: receiver.name, id, body: JSON.parse(body), at: now };
        posted.push(traceparent === undefined ? event : { ...event, traceparent });
        return bench.receive(receiver.name, id);
      },
      ...(plan.traces === undefined
        ? {}
        : {
            collector: {
              async post(signal: Signal, json: string) {
                exported.push({ signal, json, at: now });
                return bench.collect(signal);
              },
            },
          }),
      ...(plan.checks === undefined
        ? {}
        : {
            async askCheck(question: Question) {
              asked.push({ ...question, at: now });
              return bench.check(question);
            },
          }),
      providerOf: (route) => ({
        async dial({ call, attempt, timeoutSeconds, callbackUrl, guarded }) {
          await bench.prepare(call);
          const send: Send = async (_url, { mayLeave, headers: { traceparent } }) => {
            await bench.connect(call);
            if (bench.reportsConnection && mayLeave?.() === false)
              throw new Withheld("not any more");
            const one = { call, route, at: now };
            dialed.push(traceparent === undefined ? one : { ...one, traceparent });
            return new Response();
          };
          const { signal } = new AbortController();
          const request = { headers: {}, redirect: "manual", signal } as const;
          await guarded(send, bench.ringSeconds ?? timeoutSeconds)("https://example.com", request);
          callbackUrls.push(callbackUrl);
          return bench.answer(call, route, attempt, timeoutSeconds);
        },
        ...(hasRecords(route)
          ? {
              lookUp: (sought) => bench.find(sought, route),
              readResult: (placed) => bench.record(placed, route),
              listResults: (from) => bench.list(from, route),
            }
          : {}),
        ...(route.provider === "webhook"
          ? { readCallback: (signed) => bench.told(signed, route) }
          : {}),
      }),
    };
  };
  const settings = settingsFor(more.plan ?? {});
  const idle = () => new Promise((resolve) => setImmediate(resolve));
  /** Moves the clock to the earliest timer and wakes its sleeper. */
  const wakeNext = () => {
    const at = Math.min(...timers.map((timer) => timer.at));
    if (!Number.isFinite(at)) return;
    now = Math.max(now, at);
    const due = timers.filter((timer) => timer.at <= now);
    timers = timers.filter((timer) => timer.at > now);
    for (const { wake } of due) wake();
  };
  const sleep = (ms: number) =>
    new Promise<void>((wake) => {
      if (ms <= 0) wake();
      else timers.push({ at: now + ms, wake });
    });
  /** Hands messages to the dialer, whose waits use this clock alone. Messages that it hands back are redelivered. */
  async function handle(
    messages: Waiting[],
    deadlineMs: number,
    own: Partial<DialerDeps> = {},
  ): Promise<AckOrRetry[]> {
    const answers = await consumeCalls(
      messages.map(({ json, attempt }, index) => ({
        attempt,
        id: `message-${index}`,
        open: async () => json,
      })),
      asOneInvocation({ ...bench.deps, ...own }),
      now + deadlineMs,
    );
    for (const [index, { json, attempt }] of messages.entries()) {
      const answer = answers[index];
      if (answer === undefined || answer === "ack") continue;
      const visibleAt = now + answer.retryAfterSeconds * 1000;
      waiting.push({ json, attempt: attempt + 1, visibleAt });
    }
    return answers;
  }

  /** Hands messages of the events queue to the dialer. Those that it hands back are redelivered. */
  async function handleSome(delivered: Delivered[], deadlineMs: number): Promise<AckOrRetry[]> {
    const answers = await consumeEvents(delivered, asOneInvocation(bench.deps), now + deadlineMs);
    for (const [index, one] of delivered.entries()) {
      const answer = answers[index] ?? "ack";
      if (answer !== "ack") eventsQueue.putBack(one, answer);
    }
    return answers;
  }

  /** Runs work whose waits use this clock alone. */
  async function run<Result>(work: Promise<Result>): Promise<Result> {
    const state = { ended: false };
    const end = () => {
      state.ended = true;
      workUnderWay.delete(end);
    };
    workUnderWay.add(end);
    work.then(end, end);
    while (!state.ended) {
      await idle();
      if (!state.ended) wakeNext();
    }
    return work;
  }

  const bench = {
    plan: settings.plan,
    events,
    /** Requests that the provider received, in order. */
    dialed,
    /** Addresses for callbacks that the provider received, in order. */
    callbackUrls,
    /** Events that the receivers got, in order. */
    posted,
    /** Questions to checks, in order. */
    asked,
    /** Posts that the collector of traces got, in order, and its answer; a test sets it. */
    exported,
    collect: async (_signal: Signal): Promise<string | undefined> => undefined,
    /** A check's answer; a test sets it. */
    check: async (_question: Question): Promise<CheckAnswer> => ({ decision: "call" }),
    /** The ledger and the documents, without injected faults. */
    rows: memory,
    documents,
    stored,
    eventsQueue,
    kept,
    /** Requests of an adapter before the one by which the phone rings; a test sets them. */
    prepare: async (_call: Call): Promise<void> => undefined,
    /** The setting up of the connection for that request; a test sets it. */
    connect: async (_call: Call): Promise<void> => undefined,
    /** False on a platform that does not report an open connection. */
    reportsConnection: true,
    /** Time limit of that request, where the adapter has made others before. */
    ringSeconds: undefined as number | undefined,
    /** The provider's answer; a test sets it. */
    answer: async (
      _call: Call,
      _route: Route,
      _attempt: number,
      _timeoutSeconds: number,
    ): Promise<DialOutcome> => ({ kind: "placed" }),
    /** Result of a look-up in the provider's records; a test sets it. */
    find: async (_sought: SoughtCall, _route: Route): Promise<FoundCall | undefined> => undefined,
    /** The provider's record of a placed call; a test sets it. */
    record: async (_placed: PlacedCall, _route: Route): Promise<CallResult | undefined> =>
      undefined,
    /** Result of verifying a signed callback; a test sets it. */
    told: async (_signed: SignedCallback, _route: Route): Promise<CallbackReport> => ({
      kind: "unverified",
    }),
    /** A receiver's answer to an event; a test sets it. */
    receive: async (_receiver: string, _id: string): Promise<EventAnswer> => ({
      status: 204,
      text: "",
    }),
    /** The provider's list of placed calls; a test sets it. */
    list: async (_from: number, _route: Route): Promise<Map<string, CallResult>> => new Map(),
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
    /** Puts a body onto the queue that no sender of ours would send. */
    sendBody(body: unknown) {
      waiting.push({ json: JSON.stringify(body), attempt: 1, visibleAt: now });
    },
    /** Messages on the queue, including delayed ones. */
    queued: (): Message[] => waiting.map(({ json }) => messageSchema.parse(JSON.parse(json))),
    /** Number of messages that have been put onto the queue. */
    sent: () => sent,
    delays: () => waiting.map(({ visibleAt }) => (visibleAt - now) / 1000),
    /** Delivers everything visible in one delivery. Resolves to the decision about each message. */
    async deliver(deadlineMs = 900_000): Promise<AckOrRetry[]> {
      const visible = waiting.filter(({ visibleAt }) => visibleAt <= now);
      waiting = waiting.filter(({ visibleAt }) => visibleAt > now);
      return run(handle(visible, deadlineMs));
    },
    /** Delivers everything on the events queue in one delivery. */
    async deliverEvents(deadlineMs = 120_000): Promise<AckOrRetry[]> {
      return run(handleSome(eventsQueue.take(), deadlineMs));
    },
    /**
     * Delivers what comes onto the events queue for some time, `batchSize` messages at a time and as many deliveries at
     * once as there are consumers. The clock moves from event to event.
     */
    async simulateEvents(seconds: number, { consumers = 4, batchSize = 10 } = {}): Promise<void> {
      const until = now + seconds * 1000;
      for (;;) {
        await idle();
        const some = eventsUnderWay.size < consumers ? eventsQueue.take(batchSize) : [];
        if (some.length > 0) {
          const work: Promise<unknown> = handleSome(some, 120_000).finally(() =>
            eventsUnderWay.delete(work),
          );
          eventsUnderWay.add(work);
          continue;
        }
        const arrival = eventsUnderWay.size < consumers ? eventsQueue.nextAt() : Infinity;
        const next = Math.min(arrival, ...timers.map(({ at }) => at));
        if (next > until) break;
        if (timers.some(({ at }) => at <= next)) wakeNext();
        else now = Math.max(now, next);
      }
      now = until;
    },
    /** Runs one sweep, and what is done beside sweeps, like the schedule. */
    async sweep() {
      await run(sweep(asOneInvocation(bench.deps), now + 120_000));
      await bench.upkeep();
    },
    async upkeep() {
      await run(upkeep(asOneInvocation(bench.deps), now + 120_000));
    },
    /** Runs one look of a dispatcher. */
    async dispatch() {
      await run(dispatch(asOneInvocation(bench.deps), now));
    },
    /**
     * Lets time pass with several deliveries at once, each as soon as a consumer is free, and a sweep and a dispatcher
     * once a minute. The clock moves from event to event, however long a provider takes to answer.
     */
    async simulate(
      seconds: number,
      {
        consumers = 3,
        batchSize = 1,
        sweepSeconds = 60,
        firstSweepSeconds = 0,
        lateMs = noDelay,
        processes = [],
        sweeper = () => ({}),
        dispatcher = () => ({}),
        dispatchEverySeconds = 60,
      }: {
        consumers?: number;
        batchSize?: number;
        sweepSeconds?: number;
        firstSweepSeconds?: number;
        /** Delay of a message beyond the requested one. */
        lateMs?: () => number;
        /** Dependencies of each consumer, if they represent separate processes. */
        processes?: Partial<DialerDeps>[];
        /** Dependencies of each sweep, and of each dispatcher. */
        sweeper?: () => Partial<DialerDeps>;
        dispatcher?: () => Partial<DialerDeps>;
        /** Interval of the clock that starts dispatchers. */
        dispatchEverySeconds?: number;
      } = {},
    ) {
      const until = now + seconds * 1000;
      let nextSweep = now + firstSweepSeconds * 1000;
      let nextDispatch = Math.max(now, dispatchAt);
      delayOf = lateMs;
      isSimulating = true;
      dispatcherOf = dispatcher;
      for (;;) {
        await idle();
        if (now >= nextSweep) {
          void sweep(asOneInvocation({ ...bench.deps, ...sweeper() }), now + 120_000);
          void upkeep(asOneInvocation({ ...bench.deps, ...sweeper() }), now + 120_000);
          nextSweep += sweepSeconds * 1000;
          continue; // no time passes before the sweep has begun
        }
        if (now >= nextDispatch) {
          void dispatch(asOneInvocation({ ...bench.deps, ...dispatcher() }), now + 900_000);
          nextDispatch += dispatchEverySeconds * 1000;
          dispatchAt = nextDispatch;
          continue;
        }
        const visible = waiting.filter(({ visibleAt }) => visibleAt <= now).slice(0, batchSize);
        if (visible.length > 0 && underWay.size < consumers) {
          waiting = waiting.filter((message) => !visible.includes(message));
          const own = processes.pop();
          const work = handle(visible, 900_000, own).finally(() => {
            underWay.delete(work);
            if (own !== undefined) processes.push(own);
          });
          underWay.add(work);
          continue;
        }
        const arrivals = underWay.size < consumers ? waiting.map(({ visibleAt }) => visibleAt) : [];
        const next = Math.min(nextSweep, nextDispatch, ...arrivals, ...timers.map(({ at }) => at));
        if (next > until) break;
        if (timers.some(({ at }) => at <= next)) wakeNext();
        else now = Math.max(now, next);
      }
      now = until;
      isSimulating = false;
      delayOf = noDelay;
    },
    sleep,
    /** Deploys another plan. */
    changePlan(planChanges: object) {
      bench.deps.settings = settingsFor(planChanges);
    },
    /** Lets time pass, a second at a time, delivering messages and sweeping once a minute. */
    async run(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        if (second % 60 === 0) await bench.sweep();
        const waits = [...stored.values()].some(({ json }) => json.includes('"state":"WAITING"'));
        if (second % 2 === 0 && waits) await bench.dispatch();
        if (waiting.some(({ visibleAt }) => visibleAt <= now)) await bench.deliver();
        now += 1000;
      }
    },
    async row(id: string): Promise<CallRow | undefined> {
      return await readRow(memory, id);
    },
    /** Replaces methods of the ledger. */
    breakLedger(faults: Partial<CallLedger>) {
      bench.deps.ledger = { ...memory, ...faults };
    },
    /** Replaces methods of the documents. */
    breakDocuments(faults: Partial<Documents>) {
      bench.deps.documents = { ...documents, ...faults };
    },
    repairLedger() {
      bench.deps.ledger = memory;
      bench.deps.documents = documents;
    },
    /** Copies the ledger, as a backup does. Returns a function that puts the copy back in its stead. */
    copy(): () => void {
      const [rows, texts] = [[...stored], [...storedDocuments]];
      return () => {
        stored.clear();
        for (const [id, row] of rows) stored.set(id, row);
        storedDocuments.clear();
        for (const [name, text] of texts) storedDocuments.set(name, text);
      };
    },
    eventsOf: (event: string) => events.filter((one) => one.event === event),
  };
  const queue: CallQueue = {
    async send(message, delaySeconds = 0) {
      const visibleAt = now + delaySeconds * 1000 + delayOf();
      waiting.push({ json: toJson(message), attempt: 1, visibleAt });
      sent += 1;
    },
    async sendMany(messages) {
      for (const { message, delaySeconds } of messages) await queue.send(message, delaySeconds);
      return messages.length;
    },
  };
  const deps: DialerDeps = {
    queue,
    eventsQueue,
    ledger: memory,
    documents,
    epochStore: createMemoryEpochStore(),
    deadLetters: createMemoryDeadLetters(kept, () => now),
    journal: createMemoryJournal(),
    settings,
    clock: {
      now: () => now,
      sleep,
    },
    random: { version, fraction: () => 0.5 },
    concurrency: more.concurrency ?? 5,
    consumers: more.consumers ?? 10,
    statementsLeft: () => Infinity,
    dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: true },
    async wakeDispatcher() {
      if (isSimulating)
        void dispatch(asOneInvocation({ ...bench.deps, ...dispatcherOf() }), now + 900_000);
    },
    sweepSeconds: 60,
    log,
    memory: createDialerMemory(),
  };
  return bench;
}
