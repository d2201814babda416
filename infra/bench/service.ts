import { setTimeout as sleep } from "node:timers/promises";
import { createApp } from "../../functions/api/app.ts";
import { type DialerDeps, systemClock } from "../../functions/dialer/dialer.ts";
import { handleDelivery } from "../../functions/dialer/handle-delivery.ts";
import type { Call, CallRequest } from "../../shared/call.ts";
import { parseDialPlan } from "../../shared/dial-plan.ts";
import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import type { CallQueue, Delivered } from "../../shared/queue/call-queue.ts";
import { randomId } from "../../shared/random-id.ts";
import { createSchedule } from "../../shared/schedule/schedule.ts";
import { createTestApi } from "../../test/support/api.ts";
import { apiEnvironment, testPlan, tokens } from "../../test/support/environment.ts";
import { type Meter, withStages } from "./meter.ts";

/** A platform whose engines run here, and are counted. */
export interface CountedPlatform {
  name: "Cloudflare" | "AWS";
  ledger: CallLedger;
  queue: CallQueue;
  /** Messages that the platform delivers at once, where so many wait. */
  deliverySize: number;
  lanes: number;
  /** Messages on the queue. */
  waiting(): number;
  /** Takes the oldest messages off the queue, their delays left aside, as one delivery. */
  deliver(count: number): Delivered[];
  stop(): Promise<void>;
}

/** When a provider answers: all that are under way at once, or each in its own time. */
export type Answers = "together" | "apart";

const togetherMs = 5;
const apartMs = { least: 50, most: 250 };

/** The n-th of many calls, with the context of an ordinary one. */
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

/**
 * The API and the dialer over a platform, in this process, under a clock that can be set. What they ask is counted by
 * stage: `accept`, `deliver` (with what is read for a delivery, and split), `claim` and `settle`.
 */
export function createService(
  platform: CountedPlatform,
  meter: Meter,
  { plan: changes = {} }: { plan?: object } = {},
) {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const log = () => undefined;
  const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify({ ...testPlan, ...changes }) };
  const api = createTestApi({ environment, ledger: platform.ledger, now });
  const app = createApp({ ...api.deps, queue: platform.queue, log });

  let answers: Answers = "together";
  let seed = 1;
  /** 0 ≤ random < 1, the same in each run (a linear congruential generator). */
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
  let next: Promise<void> | undefined;
  async function dial(): Promise<DialOutcome> {
    meter.add("providerRequests");
    if (answers === "apart") await sleep(apartMs.least + random() * (apartMs.most - apartMs.least));
    else {
      next ??= sleep(togetherMs).finally(() => (next = undefined));
      await next;
    }
    return { kind: "placed", providerCallId: `CA${randomId()}` };
  }
  const plan = parseDialPlan({ ...testPlan, ...changes }, {});
  const deps: DialerDeps = {
    queue: platform.queue,
    ledger: withStages(platform.ledger, meter),
    settings: {
      value: {
        plan,
        schedule: createSchedule(plan, log),
        hashKey: apiEnvironment.HASH_KEY,
        sweepSeconds: 60,
        providerOf: () => ({ dial }),
      },
    },
    clock: { now, sleep: systemClock.sleep },
    random: { token: randomId, fraction: Math.random },
    lanes: platform.lanes,
    log,
  };

  return {
    /** Sets the clock, in milliseconds since the epoch; it goes on from there. */
    setClock(at: number): void {
      aheadMs = at - Date.now();
    },
    setAnswers(which: Answers): void {
      answers = which;
    },
    /** Posts a call, or a batch of calls. */
    accept(body: CallRequest | CallRequest[], key?: string): Promise<void> {
      return meter.at("accept", async () => {
        meter.add("requests");
        const path = Array.isArray(body) ? "/v1/calls/batch" : "/v1/calls";
        const { status } = await app.request(path, {
          method: "POST",
          headers: {
            authorization: `Bearer ${tokens.crm}`,
            "content-type": "application/json",
            ...(key === undefined ? {} : { "idempotency-key": key }),
          },
          body: JSON.stringify(body),
        });
        if (status !== 201) throw new Error(`${path} was answered ${status}`);
      });
    },
    sweep: (): Promise<void> => meter.at("sweep", () => platform.queue.send({ kind: "sweep" })),
    /** Delivers what is on the queue, so many messages at once, one delivery after the other. */
    async deliverAll(size = platform.deliverySize, most = Infinity): Promise<void> {
      for (let done = 0; platform.waiting() > 0 && done < most; done += size) {
        await meter.at("deliver", () => handle(platform.deliver(Math.min(size, most - done))));
      }
    },
    /** Delivers one message, which is split. */
    split: (): Promise<void> => meter.at("split", () => handle(platform.deliver(1))),
    /** Dials calls in deliveries of so many, as if they came from the queue. */
    async dial(calls: readonly Call[], size: number): Promise<void> {
      for (let start = 0; start < calls.length; start += size) {
        const delivered = calls.slice(start, start + size).map((call): Delivered => {
          const open = async () => ({ kind: "call", call });
          return { attempt: 1, large: false, open };
        });
        await meter.at("deliver", () => handle(delivered));
      }
    },
  };

  async function handle(delivered: Delivered[]): Promise<void> {
    const dispositions = await handleDelivery(delivered, deps, now() + 870_000);
    const again = dispositions.filter((one) => one !== "acknowledge").length;
    if (again > 0) throw new Error(`${again} messages come again`);
  }
}
