import type { Environment } from "../../shared/settings/settings.ts";
import type { DialPlan } from "../../shared/dial-plan/plan-schema.ts";
import { createProviders } from "../../shared/providers/providers.ts";
import type { DialerDeps, DialerMemory, DialerSettings } from "./runtime/context.ts";
import { createPostEvent } from "./runtime/post-event.ts";

/**
 * Interval between sweeps: the 60 s of both platforms' schedules. A local run sets SWEEP_SECONDS to something
 * shorter.
 */
export function sweepSecondsOf({ SWEEP_SECONDS }: Environment): number {
  return Number(SWEEP_SECONDS) || 60;
}

export function createDialerMemory(): DialerMemory {
  return {
    backlogsUsedAt: new Map(),
    roundTripsMs: [],
    countedNumbers: new Map(),
    agentsNotedAt: new Map(),
    breakersChanged: 0,
    answers: new Map(),
    heartbeatReadAt: -Infinity,
    epochSeen: undefined,
    epochReadAt: -Infinity,
    epochKnownAt: -Infinity,
    restoredAt: 0,
    unverifiedSaidAt: -Infinity,
  };
}

/**
 * Connects the dialer to its plan's providers and receivers of events.
 *
 * @throws if a secret of one of them is malformed
 */
export function connect(
  ports: Parameters<typeof createProviders>[0],
  plan: DialPlan,
): Pick<DialerSettings, "providerOf" | "postEvent"> {
  return {
    providerOf: createProviders(ports, Object.values(plan.agents)),
    postEvent: createPostEvent(plan, ports),
  };
}

/** The system clock. */
export const systemClock: DialerDeps["clock"] = {
  now: Date.now,
  // A wait of zero sets no timer: timers fire separately, which would part calls that share round trips.
  sleep: (ms) => (ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : Promise.resolve()),
};
