/** The service over a platform's engines, with a provider and a receiver of events that are reached by HTTP. */
import { createPostEvent } from "#functions/dialer/runtime/post-event.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { startStandIn } from "#infra/stand-ins/stand-in.ts";
import { twilio } from "#infra/stand-ins/twilio.ts";
import { webhook } from "#infra/stand-ins/webhook.ts";
import { parseDialPlan } from "../support/plans.ts";
import { createSignatureHeaders, parseSigningKey } from "#shared/lib/standard-webhooks.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { messageCallsMax } from "#shared/ports/call-messages.ts";
import { apiEnvironment, testPlan } from "../support/environment.ts";
import { startReceiver } from "../support/receiver.ts";
import { environmentOf, routeFields } from "../support/stand-ins.ts";
import type { Meter } from "./meter.ts";
import { type CountedPlatform, createService, requestOf } from "./service.ts";

export type DeliveryOutcome = "nothing" | "results" | "results and an event";

/**
 * Accounts, by what decides about a call's writes: whether it waits for a pace, and who tells of its end. `perRequest`:
 * maximum calls of a request.
 */
export const accounts = {
  unpaced: { standIn: webhook, perRequest: Infinity },
  // A request of up to 25 calls is not split, and goes at once while its account has room.
  atOnce: { standIn: twilio, perRequest: messageCallsMax },
  waiting: { standIn: twilio, perRequest: Infinity },
} as const;
export type Account = keyof typeof accounts;
/** Accounts with their names in tables. */
export const accountNames: [Account, string][] = [
  ["unpaced", "no pace; its end told by a callback"],
  ["atOnce", "a pace, going at once; asked"],
  ["waiting", "a pace, waiting for it; asked"],
];

export const waitMinutes = 240;
const minuteMs = 60_000;
/** Rate of the accounts with a pace: at higher ones permits are void here, as timers fire by the millisecond. */
const callsPerSecond = 50;
const pollsPerSecond = 20;

function planOf(
  account: Account,
  told: DeliveryOutcome,
  providerUrl: string,
  receiverUrl: string,
): object {
  const { name } = accounts[account].standIn;
  const isPaced = account !== "unpaced";
  const route = isPaced ? routeFields[name] : { url: `${providerUrl}/dial` };
  const event = { url: receiverUrl, types: ["call.ended"], requestsPerSecond: 1000 };
  return {
    agents: { agent_sales: { provider: name, ...route } },
    ...(isPaced
      ? { providers: { [name]: { baseUrl: providerUrl, callsPerSecond, pollsPerSecond } } }
      : {}),
    ...(told === "nothing" ? {} : { results: { waitMinutes } }),
    ...(told === "results and an event" ? { events: { "*": event } } : {}),
  };
}

/**
 * Starts the service with an account of a kind.
 *
 * @param wait waits for the dialer, in milliseconds
 */
export async function startTold(
  platform: CountedPlatform,
  meter: Meter,
  {
    account,
    told,
    wait,
  }: { account: Account; told: DeliveryOutcome; wait?: DialerDeps["clock"]["sleep"] },
) {
  const { clock } = platform;
  const { standIn: imitation, perRequest } = accounts[account];
  const standIn = await startStandIn(imitation, { now: clock.now });
  const receiver = await startReceiver((_request, response) => response.writeHead(204).end());
  const changes = planOf(account, told, standIn.url, `${receiver.url}/`);
  const plan = parseDialPlan({ ...testPlan, ...changes }, {});
  const environment = environmentOf(imitation.name, imitation.secrets);
  const options = { environment, fetch, now: clock.now, print: () => undefined };
  const connected = {
    providerOf: createProviders(options, Object.values(plan.agents)),
    postEvent: createPostEvent(plan, { environment, fetch, now: clock.now }),
    publicUrl: account === "unpaced" ? apiEnvironment.PUBLIC_URL : undefined,
  };
  const service = createService(platform, meter, {
    plan: changes,
    connected,
    secrets: environment,
    wait,
  });

  /** Has the receiver of calls tell the end of each, as docs/results.md says. */
  async function reportEnds(): Promise<void> {
    const key = parseSigningKey(webhook.secrets["SECRET"] ?? "", "the stand-in's secret");
    for (const { ourId = "", request } of standIn.calls.placed) {
      const body = JSON.stringify({ status: "completed", seconds: 60, human: true });
      const headers = createSignatureHeaders(
        { id: ourId, body },
        { keys: [key], now: clock.now() },
      );
      const { callback_url }: { callback_url?: string } = request;
      await service.callback(callback_url ?? "", body, headers);
    }
  }

  const route = plan.agents["agent_sales"];
  if (route === undefined) throw new Error("the plan has no route");
  return {
    service,
    standIn,
    route,
    /** Returns the number of different events that were told. */
    heard: () => new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size,
    /** Posts calls, and has all of them dialed. */
    async place(count: number): Promise<void> {
      for (let from = 0; from < count; from += perRequest) {
        await service.accept(
          Array.from({ length: Math.min(perRequest, count - from) }, (_, n) => requestOf(from + n)),
        );
        await service.handOut();
      }
    },
    /** Lets minutes pass, in each of which results are asked for or told, and events told. */
    async passMinutes(minutes: number): Promise<void> {
      for (let minute = 0; minute < minutes; minute++) {
        clock.set(clock.now() + minuteMs);
        if (minute === 0 && account === "unpaced" && told !== "nothing") await reportEnds();
        await service.sweep();
        await service.deliverInTime();
        await service.deliverEvents();
      }
    },
    async stop(): Promise<void> {
      await Promise.all([standIn.close(), receiver.close()]);
    },
  };
}
