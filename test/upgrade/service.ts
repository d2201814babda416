import { setTimeout as sleep } from "node:timers/promises";
import { createApp } from "#functions/api/app.ts";
import { createHandlers, type QueueHandler } from "#functions/dialer/handlers.ts";
import { parseDialPlan } from "../support/plans.ts";
import type { Log } from "#shared/lib/log.ts";
import { minuteMs } from "#shared/lib/units.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { DialingProvider } from "#shared/providers/provider.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { apiParts } from "../support/api.ts";
import { dialerParts, jumpingSleep, settingsUnder } from "../support/dialer-parts.ts";
import { apiEnvironment, testPlan, tokens } from "../support/environment.ts";
import type { UpgradePlatform } from "./platforms.ts";

const webhook = { provider: "webhook", url: "http://127.0.0.1:9/dial" };

/** The plan under which the fixture was stored. */
export const plan = {
  ...testPlan,
  agents: {
    agent_sales: webhook,
    agent_safe: { ...webhook, idempotent: true },
    agent_paused: webhook,
    agent_later: webhook,
    agent_desk: { provider: "vapi", agent: "a", from: "f" },
  },
  providers: { webhook: {}, vapi: { liveCalls: 10 } },
  maxCalls: { count: 3, days: 30 },
  results: {},
  events: { crm: { url: "http://127.0.0.1:9/events", echo: ["ref"] } },
  expireAfterHours: 6,
  reviewAfterSeconds: 120,
};

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) };
export const { HASH_KEY: hashKey } = environment;

/** A message that the service has sent and not yet acknowledged. */
export interface Queued {
  of: QueueHandler;
  id: string;
  body: string;
  attempt: number;
  visibleAt: number;
}

/** Where the outside world stands. */
export interface World {
  /** Calls that the providers already have: by the call's id the provider's. */
  known: ReadonlyMap<string, string>;
}

/**
 * Runs the API and the dialer of this version over a platform's engines, under a clock that the test moves. Providers and
 * receivers are stand-ins that note what they get.
 */
export function createService(
  platform: UpgradePlatform,
  { startAt, known, random }: World & { startAt: number; random: { id(): string } },
) {
  let now = startAt;
  const clock = { now: () => now, sleep: jumpingSleep((ms) => (now += ms)) };
  const events: { level: string; event: string; fields: object }[] = [];
  const log: Log = (level, event, fields) => events.push({ level, event, fields });
  const rung: { id: string; number: string }[] = [];
  const told: string[] = [];
  const lookedUp: string[] = [];
  const sent: Pick<Queued, "of" | "body">[] = [];
  let waiting: Queued[] = [];
  let taken = 0;
  const put = (of: QueueHandler, body: string, delaySeconds = 0) => {
    const visibleAt = now + delaySeconds * 1000;
    waiting.push({ of, id: `message-${++taken}`, body, attempt: 1, visibleAt });
  };
  const take = (of: QueueHandler) => (body: string, delaySeconds: number) => {
    sent.push({ of, body });
    put(of, body, delaySeconds);
  };
  const version = () => random.id().slice(0, 20);
  const ports = {
    ...platform.createPorts(clock.now, version),
    queue: platform.createQueue(take("messages")),
    eventsQueue: platform.createQueue<EventMessage>(take("events")),
  };

  function providerOf({ provider }: Route): DialingProvider<Route> {
    return {
      async dial({ call }) {
        rung.push({ id: call.id, number: call.request.phone_number });
        return { kind: "placed", providerCallId: `ring_${call.id}` };
      },
      ...(provider === "vapi" && {
        async lookUp({ call: { id } }) {
          lookedUp.push(id);
          const providerCallId = known.get(id);
          return providerCallId === undefined ? undefined : { by: "id", providerCallId };
        },
        readResult: async () => result(now),
        listResults: async () => new Map(),
      }),
      ...(provider === "webhook" && {
        readCallback: async () => ({ kind: "reported", result: result(now) }),
      }),
    };
  }

  const parsed = parseDialPlan(plan, {});
  const handlers = createHandlers({
    ...dialerParts(),
    ...ports,
    settings: {
      value: {
        ...settingsUnder(parsed, log),
        providerOf,
        async postEvent(_, { id }) {
          told.push(id);
          return { status: 204, text: "" };
        },
      },
    },
    clock,
    random: { version, fraction: () => 0 },
    log,
  });
  const app = createApp({
    ...ports,
    ...apiParts(environment, log),
    clock,
    randomId: random.id,
    log,
  });

  /** Delivers what is visible, each message alone, as both platforms do. */
  async function deliver(): Promise<void> {
    const visible = waiting.filter(({ visibleAt }) => visibleAt <= now);
    waiting = waiting.filter((one) => !visible.includes(one));
    for (const message of visible) {
      const delivered = [platform.toDelivered(message)];
      const [answer = "ack"] = await handlers[message.of](delivered, now + 15 * minuteMs);
      if (answer === "ack") continue;
      const visibleAt = now + answer.retryAfterSeconds * 1000;
      waiting.push({ ...message, attempt: message.attempt + 1, visibleAt });
    }
  }

  return {
    ...ports,
    clock,
    events,
    /** Requests by which a phone rings, in order. */
    rung,
    /** Ids of the events that the receiver got, in order. */
    told,
    lookedUp,
    /** Messages that this version has sent, in order. */
    sent,
    waiting: (): readonly Queued[] => waiting,
    /** Puts bodies onto a queue, as they were stored there. */
    put(of: QueueHandler, bodies: readonly string[]) {
      for (const body of bodies) put(of, body);
    },
    /** Asks the API, as a client or an operator. */
    async ask(path: string, body?: unknown, headers: Record<string, string> = {}) {
      const client = path.startsWith("/v1/calls") ? tokens.crm : tokens.crmDesk;
      const authorization = `Bearer ${path.startsWith("/operator") ? tokens.operator : client}`;
      const answer = await app.request(path, {
        headers: { authorization, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, body: JSON.parse(text || "{}") };
    },
    sweep: () => handlers.sweep(now + 2 * minuteMs),
    deliver,
    /** Lets time pass: a sweep a minute, a look of the dispatcher and a delivery every 30 s. */
    async pass(minutes: number) {
      const endAt = now + minutes * minuteMs;
      for (let turn = 0; now < endAt; turn++) {
        const nextAt = now + 30_000;
        if (turn % 2 === 0) await handlers.sweep(now + 2 * minuteMs);
        if (turn % 2 === 0) await handlers.upkeep(now + 2 * minuteMs);
        await handlers.dispatch(now);
        await deliver();
        await deliver();
        await sleep(0);
        now = Math.max(now, nextAt);
      }
    },
  };
}

export type Service = ReturnType<typeof createService>;

/** Result of a call that was answered and has ended. */
const result = (at: number) => ({
  status: "completed" as const,
  human: true,
  word: "completed",
  answeredAt: at - 60_000,
  endedAt: at - 1_000,
  seconds: 59,
});
