import { hash } from "node:crypto";
import type { Environment } from "#shared/settings/settings.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { createCollector } from "#shared/traces/collector.ts";
import { createProviders } from "#shared/providers/providers.ts";
import type { DialerDeps, DialerSettings, PlanRead } from "./runtime/context.ts";
import { createAskCheck } from "./runtime/ask-check.ts";
import { isClientReceiver } from "#shared/dial-plan/receivers.ts";
import { createPostEvent } from "./runtime/post-event.ts";
import { createPostToClientReceiver } from "./runtime/post-to-client-receiver.ts";

/** Interval between sweeps: 60 s by both platforms' schedules. A local run sets a shorter SWEEP_SECONDS. */
export function sweepSecondsOf({ SWEEP_SECONDS }: Environment): number {
  return Number(SWEEP_SECONDS) || 60;
}

/**
 * Creates the clients of the plan's providers, receivers of events and checks, and of its collector of traces.
 *
 * @throws if a secret of one of them is malformed
 */
export function connect(
  ports: Parameters<typeof createProviders>[0],
  plan: DialPlan,
): Pick<DialerSettings, "providerOf" | "postEvent" | "askCheck" | "collector" | "planRead"> {
  const postEvent = createPostEvent(plan, ports);
  const postToClientReceiver = createPostToClientReceiver(ports);
  return {
    providerOf: createProviders(ports, Object.values(plan.agents)),
    postEvent: (receiver, event) =>
      isClientReceiver(receiver)
        ? postToClientReceiver({ ...receiver.own, url: receiver.url }, event)
        : postEvent(receiver, event),
    askCheck: createAskCheck(plan, ports),
    planRead: toPlanRead(plan, ports.now()),
    ...(plan.traces === undefined ? {} : { collector: createCollector(ports) }),
  };
}

/** Returns the hash of a plan that was read at a time. */
export function toPlanRead(plan: DialPlan, readAt: number): PlanRead {
  return { hash: hash("sha256", JSON.stringify(plan)).slice(0, 16), readAt };
}

/** The system clock. */
export const systemClock: DialerDeps["clock"] = {
  now: Date.now,
  // A wait of zero sets no timer. Timers fire separately, which would separate calls that share round trips.
  sleep: (ms) => (ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve()),
};
