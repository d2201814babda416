import { clientRights } from "#shared/settings/tokens.ts";
import type { Journal } from "#shared/ports/journal.ts";
import { createMemoryJournal } from "../support/memory-journal.ts";
import { createApp } from "#functions/api/app.ts";
import { laterParts } from "#functions/api/parts.ts";
import type { Log, LogFields } from "#shared/lib/log.ts";
import { toCalls } from "#shared/ports/call-messages.ts";
import { readOperators, readTokens, valueOf } from "#shared/settings/settings.ts";
import { readApiSettings, readDialerSettings } from "../support/plans.ts";
import { checkViolations, createChecks } from "./checks.ts";
import { callBackViolations } from "./call-back-rules.ts";
import { chainViolations } from "./chain-rules.ts";
import { createCallbacks } from "./callbacks.ts";
import { type Answer, createClients } from "./clients.ts";
import { createSimulatedDocuments } from "./documents.ts";
import { breakerViolations } from "./breaker-rules.ts";
import { createClock } from "./clock.ts";
import { clockViolations } from "./clock-rules.ts";
import { createSimulatedCollector, traceViolations } from "./trace-rules.ts";
import { headerViolations, urgencyViolations } from "./header-rules.ts";
import { violationsOf } from "./invariants.ts";
import { createSimulatedLedger } from "./ledger.ts";
import { createOperatorActs } from "./operator-acts.ts";
import { weeksLater } from "./later.ts";
import { environment, isCalledBack, knowAccounts, planOf } from "./plan.ts";
import type { EpochStore } from "#shared/ports/epoch-store.ts";
import { createMemoryDeadLetters } from "../support/memory-dead-letters.ts";
import { createMemoryEpochStore } from "../support/memory-epoch-store.ts";
import { ask, type Faults } from "./outside.ts";
import { createOwnClock, createProcesses } from "./processes.ts";
import { createSimulatedProvider } from "./provider.ts";
import { createReceivers } from "./receivers.ts";
import { eventViolations } from "./event-rules.ts";
import { createRestores } from "./restores.ts";
import { isEnd, resultViolations } from "./result-rules.ts";
import { callsUse, createSimulatedQueue, eventsUse, type QueueTraits } from "./queue.ts";
import { calmWeather, isCalm, type Scenario } from "./scenario.ts";
import { turnViolations } from "./turn-rules.ts";
import { noStops, World } from "./world.ts";
import { writeViolations } from "./writer-rules.ts";
import { createWriters, toOrders } from "./writers.ts";

const hourMs = 3_600_000;
/** A Thursday. Within a week of it, clocks are put back in Europe, and then in America. */
const firstStart = Date.parse("2026-10-22T12:00:00Z");
/** Time at which faults end. The remaining work must be done without them. */
const stormMs = 1.2 * hourMs;
/** Time after the storm in which what is under way ends: late messages, requests that take long, and their claims. */
const afterStormMs = 150_000;
/** Maximum duration of an API invocation. */
const apiLifeMs = 30_000;

/** Result of a run. */
export interface Report {
  violations: string[];
  accepted: number;
  placed: number;
  /** Number of repeated requests, messages and posts that led to no second placement. */
  suppressed: number;
  unknown: number;
  needsReview: number;
  killed: number;
  frozen: number;
  /** Number of calls whose end is told. */
  told: number;
  /** Number of callbacks that were taken, and of forged ones that were not. */
  calledBack: number;
  forged: number;
  /** Number of placed calls that were tries after another one. */
  triedAgain: number;
  /** Number of placed calls that their callees had asked for. */
  promisesKept: number;
  /** Number of writes of clients and operators who write as much as they may. */
  written: number;
  /** Number of requests to receivers that clients have made. */
  ownTold: number;
  /** Number of requests to receivers of events that were taken, and of those that were not. */
  eventsTaken: number;
  eventsRefused: number;
  /** Events of the run, if requested. */
  trace: string[];
}

/** True for an entry of a write that stops no calls: such writes have an hourly maximum, and are not gathered. */
const isBudgeted = (body: string) => /^\{"kind":"(?:client|token|receiver)"/.test(body);

/** Parts of a run in which the journal is up or down. */
const journalPartMs = 300_000;

/**
 * Runs the API, the dialer, the dial plan and its schedule over a simulated queue, ledger, provider and
 * clock, by a scenario, until every call has ended. Then checks the promises against the events.
 *
 * @param options.pauses steps such as `claim` (before it is made) and `claim answers`, with milliseconds: the
 * first function at such a step stands still there; `answersFirst` says what it finds afterwards
 * @param options.delays the same steps: the first request of each takes this many milliseconds
 */
export async function simulate(
  scenario: Scenario,
  {
    traced = false,
    pauses = {},
    delays = {},
    answersFirst = false,
  }: {
    traced?: boolean;
    pauses?: Record<string, number>;
    delays?: Record<string, number>;
    answersFirst?: boolean;
  } = {},
): Promise<Report> {
  const startAt = firstStart + scenario.startMinutes * 60_000;
  const world = new World(scenario.seed, startAt);
  world.traced = traced;
  world.answersFirst = answersFirst;
  for (const [step, ms] of Object.entries(pauses)) world.pauses.set(step, ms);
  for (const [step, ms] of Object.entries(delays)) world.delays.set(step, ms);
  const stormEnd = startAt + stormMs;
  const isStormy = () => world.now() < stormEnd;
  const weather = () => (isStormy() ? scenario.weather : calmWeather);
  const isOut = (of: Scenario["outages"][number]["of"]) =>
    scenario.outages.some((outage) => {
      const from = startAt + outage.atSeconds * 1000;
      return outage.of === of && world.now() >= from && world.now() < from + outage.seconds * 1000;
    });
  const faultsOf = (of: "ledger" | "queue") => (): Faults => {
    const { before, after, slow } = weather();
    return isOut(of) && isStormy() ? { before: 0.9, after, slow } : { before, after, slow };
  };

  const logged: (LogFields & { level: string; event: string })[] = [];
  const log: Log = (level, event, fields) => {
    logged.push({ level, event, ...fields });
    world.note(`log ${event} ${JSON.stringify(fields)}`);
  };
  const variables = environment(scenario);
  const ledger = createSimulatedLedger(world, () =>
    isStormy() && world.chance(0.5) ? Math.round(world.random() * scenario.lagSeconds * 1000) : 0,
  );
  const documents = createSimulatedDocuments(world);
  const plan = planOf(scenario);
  const provider = createSimulatedProvider(
    world,
    () => (isOut("providers") && isStormy() ? { ...weather(), vanished: 0.6 } : weather()),
    () => callbacks,
  );
  const receivers = createReceivers(world, scenario, isStormy);
  const checks = createChecks(world, scenario, isStormy);
  const { collector, taken: exported } = createSimulatedCollector(world, isStormy);
  const settingsOf = (isOld: boolean) =>
    valueOf(
      readDialerSettings(
        environment(scenario, isOld),
        {
          bundledPlan: undefined,
          connect: () => ({
            providerOf: provider.providerOf,
            postEvent: receivers.postEvent,
            askCheck: checks.askCheck,
            planRead: isOld ? { hash: "old", readAt: 0 } : { hash: "new", readAt: 1 },
            ...(scenario.traces === true && !isOld ? { collector } : {}),
          }),
        },
        log,
      ),
    );
  const [settings, oldSettings] = [settingsOf(false), settingsOf(true)];
  const sleep = (ms: number) => {
    if (ms > 0) world.mayStop("sleep");
    return world.wait(ms, "sleep");
  };
  /** Dead letters that could not be handled yet. */
  const letters = new Map<string, string>();
  const entries = createMemoryJournal();
  const appended: string[] = [];
  /** Faults of the journal, which beside a restore is down for five minutes of each quarter of an hour. */
  const journalFaults = (): Faults => {
    const faults = faultsOf("queue")();
    const part = Math.floor((world.now() - startAt) / journalPartMs) % 3;
    const isDown = scenario.restore !== undefined && isStormy() && part === 2;
    return isDown ? { ...faults, before: 1 } : faults;
  };
  const reach = <Result>(work: () => Promise<Result>) =>
    ask(world, journalFaults(), "journal", work);
  /** Keeps what a restore must not undo, as epochs are kept: outside the ledger. */
  const journal: Journal = {
    append: (name, body) =>
      reach(async () => {
        if (!isBudgeted(body)) appended.push(name);
        await entries.append(name, body);
      }),
    list: (query) => reach(() => entries.list(query)),
    read: (name) => reach(() => entries.read(name)),
    remove: (names) => reach(() => entries.remove(names)),
  };
  const epochs = createMemoryEpochStore();
  const epochStore: EpochStore = {
    read: () => ask(world, faultsOf("queue")(), "epoch", () => epochs.read()),
    write: (epoch, before) =>
      ask(world, faultsOf("queue")(), "epoch", () => epochs.write(epoch, before)),
  };
  const processes = createProcesses(
    world,
    () => ({
      isOld: world.now() < startAt + scenario.oldPlanSeconds * 1000 && world.chance(0.5),
      isLater: isStormy() && world.chance(scenario.later),
    }),
    scenario,
    ({ memory, isOld, isLater, now }) => ({
      queue: queue.queue,
      eventsQueue: events.queue,
      statementsLeft: () => Infinity,
      ledger: ledger.reach(faultsOf("ledger"), isLater),
      documents: documents.reach(faultsOf("ledger")),
      epochStore,
      deadLetters: createMemoryDeadLetters(letters, now),
      journal,
      settings: isOld ? oldSettings : settings,
      clock: { now, sleep },
      random: { version: world.version, fraction: world.random },
      concurrency: 4,
      consumers: scenario.consumers,
      dispatcher: clock.traits,
      ...(scenario.endsIdle ? { wakeDispatcher: clock.wakeDispatcher } : {}),
      sweepSeconds: 60,
      log,
      memory,
    }),
  );
  const queueTraits = (): QueueTraits => ({
    consumers: scenario.consumers,
    lifeMs: scenario.lifeSeconds * 1000,
    batchSize: scenario.batchSize,
    visibilityMs: scenario.visibilitySeconds * 1000,
    attemptsMax: scenario.attemptsMax,
    double: weather().double,
    lostResult: weather().lostResult,
    lateMs: isStormy() ? scenario.lateSeconds * 1000 : 0,
    partial: weather().partial,
  });
  const queue = createSimulatedQueue(world, faultsOf("queue"), queueTraits, processes, callsUse);
  const events = createSimulatedQueue(world, faultsOf("queue"), queueTraits, processes, eventsUse);
  const clock = createClock(world, scenario, processes, {
    ledger,
    documents,
    queues: [queue, events, { isQuiet: () => letters.size === 0 }],
    isStormy,
    thrown: queue.thrown,
  });
  if (scenario.isKnown) await knowAccounts(plan, documents.memory, world.version);
  const app = createApp({
    queue: queue.queue,
    eventsQueue: events.queue,
    ledger: ledger.reach(faultsOf("ledger")),
    documents: documents.reach(faultsOf("ledger")),
    deadLetters: createMemoryDeadLetters(letters, world.now),
    journal,
    epochStore,
    settings: readApiSettings(variables, undefined, log),
    ...readTokens(variables, log),
    clientRights,
    operatorOf: readOperators(variables, log),
    parts: laterParts,
    readServed: () => Promise.reject(new Error("no simulated operator opens the page")),
    clock: { now: createOwnClock(world, scenario.clocks === "same" ? "same" : "apart") },
    randomId: world.hex,
    log,
  });
  const answers: Answer[] = [];
  const request = async (path: string, init: RequestInit): Promise<Answer | undefined> => {
    const answer = await world.invoke(
      "api",
      async () => {
        const response = await app.request(path, init);
        const text = await response.text();
        world.mayStop("the API answers");
        await world.wait(world.between(1, 50), "an answer is on its way");
        const requestId = response.headers.get("x-request-id") ?? "";
        return { path, status: response.status, text, requestId };
      },
      apiLifeMs,
    );
    world.note(`answer ${path} ${answer?.status ?? "none"} ${answer?.requestId ?? ""}`);
    if (answer !== undefined) answers.push(answer);
    return answer;
  };

  const callbacks = createCallbacks(world, request, {
    reportOptOuts: scenario.restore !== undefined,
    mayWish: (agent) => isCalledBack(agent, scenario),
  });
  const clients = createClients(world, scenario, request);
  createRestores(world, scenario, ledger, documents.stored, epochs.current, request);
  const operator = createOperatorActs(world, scenario, request, provider.isPlaced);
  const queued = () =>
    queue.seen.flatMap((message) =>
      message.kind === "calls" ? [[message.requestId, message.client] as const] : [],
    );
  const { written } = createWriters(world, scenario, request, () => queued().map(([id]) => id));
  world.after(0, "the storm begins", () => {
    world.stops = { kill: scenario.weather.kill, freeze: scenario.weather.freeze };
  });
  world.after(stormMs, "the storm ends", () => {
    world.stops = noStops;
  });

  const downMs = Math.max(0, ...scenario.receivers.map(({ downSeconds }) => downSeconds * 1000));
  const endAt = startAt + (30 + 3) * hourMs + downMs;
  const takeRows = () => {
    ledger.takeOne();
    world.after(world.between(20_000, 600_000), "a later version takes a row", () => {
      if (isStormy()) takeRows();
    });
  };
  if (scenario.later > 0.3) world.after(60_000, "a later version takes a row", takeRows);
  clock.begin(endAt);

  await world.run(endAt);
  const rules = {
    plan,
    rows: [...ledger.versions],
    hidden: ledger.hidden,
    documents: [...documents.versions],
    dispatches: queue.seen.flatMap((message, index) =>
      message.kind === "dispatch" ? [{ message, at: queue.seenAt[index] ?? 0 }] : [],
    ),
    requests: [...provider.requests],
    calmFrom: isCalm(scenario)
      ? world.frozenUntil
      : Math.max(stormEnd, world.frozenUntil) + afterStormMs,
    endAt,
  };
  const seen = await operator.everything();
  const calls = queue.seen.flatMap((message) => (message.kind === "calls" ? toCalls(message) : []));
  const repeated = queue.stats.again + queue.stats.doubled + clients.repeats();
  const unknown = new Set(
    logged.filter(({ event }) => event === "call.unknown").map(({ call_id }) => call_id),
  );
  const rowsAtEnd = ledger.rows();
  const clientsOf = new Map(queued());
  const clientOf = (id: string) => clientsOf.get(id);
  const happened = {
    plan,
    scenario,
    chainOf: new Map(
      rowsAtEnd.flatMap(({ id, tries, ancestors: [first] }) =>
        tries === undefined || first === undefined ? [] : [[id, first]],
      ),
    ),
    posted: clients.posted,
    calls,
    requests: provider.requests,
    placements: provider.placements,
    rows: seen,
    acts: [...operator.done(), ...toOrders(written, clientOf)],
    errors: operator.errors,
    answers,
    events: logged,
    secrets: Object.values(variables),
  };
  const results = {
    scenario,
    /** Time from which on nothing fails. */
    calmFrom: stormEnd,
    rows: rowsAtEnd,
    placements: provider.placements,
    unreadableAt: provider.unreadableAt,
    callbacks,
    listed: new Set(
      [...documents.stored.values()].flatMap(({ kind, key }) =>
        kind === "do-not-call" ? key : [],
      ),
    ),
    messages: events.seen,
    answers,
  };
  const told = {
    scenario,
    plan,
    calmFrom: stormEnd,
    versions: ledger.versions,
    rows: results.rows,
    posts: receivers.seen,
    calls,
  };
  return {
    violations: [
      ...queue.thrown,
      ...events.thrown,
      ...ledger.violations,
      ...ledger.dialedUnseen(provider.requests),
      ...violationsOf(happened),
      ...headerViolations(happened),
      ...traceViolations({ exported, rows: ledger.versions, scenario }),
      ...(scenario.restore === undefined && scenario.clocks === "same"
        ? [
            ...turnViolations(rules),
            ...urgencyViolations(rules),
            ...breakerViolations({ ...rules, calls }),
          ]
        : []),
      // By a clock that is an hour ahead the wait for a result is over too soon.
      ...(scenario.clocks === "stepping" ? [] : resultViolations(results)),
      // The events of clients' own receivers stand in the same outboxes, and their rules are those of writes.
      ...(scenario.writes?.some(({ what }) => what === "receivers") === true
        ? []
        : eventViolations(told)),
      ...(scenario.restore === undefined
        ? checkViolations({ ...told, asked: checks.seen, requests: provider.requests })
        : []),
      ...writeViolations({
        scenario,
        written,
        rows: seen,
        ancestorsOf: new Map(rowsAtEnd.map(({ id, ancestors }) => [id, ancestors])),
        clientOf,
        documentOf: (kind, key) => documents.stored.get(`${kind} ${key}`)?.json,
        appended,
        left: await entries.list({ limit: 100_000 }),
        ungathered: logged.filter(({ event }) => event === "journal.not_gathered").length,
        clientReceiverPosts: receivers.own,
        endAt,
      }),
      ...chainViolations({ ...told, placements: provider.placements }),
      ...callBackViolations({ ...told, placements: provider.placements }),
      ...clockViolations({
        scenario,
        startAt,
        calls,
        requests: provider.requests,
        documents: documents.versions,
      }),
      ...(scenario.seed % 4 === 0 && scenario.restore === undefined
        ? await weeksLater(world, { queue, events, processes, provider })
        : []),
    ],
    accepted: clients.posted.filter(({ status }) => status === "accepted").length,
    placed: provider.placements.length,
    suppressed: repeated + provider.stats.suppressed,
    unknown: unknown.size,
    needsReview: seen.filter(({ state }) => state === "NEEDS_REVIEW").length,
    killed: world.killed,
    frozen: world.frozen,
    told: results.rows.filter(({ result }) => isEnd(result)).length,
    calledBack: callbacks.sent.filter(({ status }) => status === 204).length,
    forged: callbacks.sent.filter(({ mustBe }) => mustBe !== undefined).length,
    triedAgain: provider.placements.filter(({ id }) => happened.chainOf.has(id)).length,
    promisesKept: rowsAtEnd.filter(
      ({ id, tries }) =>
        tries?.promisedAt !== undefined && provider.placements.some((one) => one.id === id),
    ).length,
    written: written.length,
    ownTold: receivers.own.length,
    eventsTaken: receivers.seen.filter(({ isTaken }) => isTaken).length,
    eventsRefused: receivers.seen.filter(({ isTaken }) => !isTaken).length,
    trace: world.trace,
  };
}
