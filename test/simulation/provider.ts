import { splitTime } from "#shared/providers/livekit-agent.ts";
import type { DialingProvider, DialOutcome, FoundCall } from "#shared/providers/provider.ts";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import { createRecords, isTelling, lifeFrom, listLagMs } from "./lives.ts";
import { OutsideError } from "./outside.ts";
import type { CallingBack, Placement, Requested } from "./placement.ts";
import { type Send, Withheld } from "#shared/lib/http-client.ts";
import type { World } from "./world.ts";

/** Possible fates of a request, by their frequency, beside being placed and answered. */
export interface Fates {
  /** Placed, and the answer lost or a 5xx. */
  lost: number;
  /** Not placed, and the answer lost or a 5xx. */
  vanished: number;
  /** Placed some time after the time limit, unanswered. */
  late: number;
  /** 429: surely not placed. */
  busy: number;
  rejected: number;
  accountRefused: number;
  routeRefused: number;
  forbidden: number;
  /** A look-up fails. */
  mute: number;
}

/** Time after which Telnyx forgets a command's id. */
const commandMemoryMs = 60_000;
/** Maximum time after its time limit at which a provider may still place a call. */
const lateMsMax = 30_000;

/**
 * Creates providers of every kind: idempotent ones and others, with and without records for look-ups.
 *
 * @param callbacks returns the callbacks of the providers, which begin with the first request
 */
export function createSimulatedProvider(
  world: World,
  fates: () => Fates,
  callbacks: () => CallingBack,
) {
  const requests: Requested[] = [];
  const placements: Placement[] = [];
  /** Calls whose phones ring, or will ring. */
  const doomed = new Set<string>();
  const stats = { suppressed: 0 };
  /** Calls accepted under a key that the provider remembers, and the time until which it does. */
  const remembered = new Map<string, { providerCallId: string; until: number }>();

  const keyOf = (id: string, attempt: number, route: Route): string | undefined => {
    if (route.provider === "telnyx") return `${id}-${attempt}`;
    return route.provider === "webhook" && route.idempotent === true ? id : undefined;
  };

  const chosen = (): keyof Fates | "placed" => {
    const { mute: _, ...chances } = fates();
    let left = world.random();
    for (const [fate, chance] of Object.entries(chances)) {
      left -= chance;
      if (left < 0) return fateNamed(fate);
    }
    return "placed";
  };

  /** Seconds for which LiveKit's agent is waited for in the simulation's plan. */
  const agentWaitSeconds = 5;

  /** Dials in steps, at each of which the process may stand still: earlier requests, the connection, the request. */
  async function dial(
    request: Parameters<DialingProvider<Route>["dial"]>[0],
    route: Route,
  ): Promise<DialOutcome> {
    const at = world.now();
    const { timeoutSeconds, guarded } = request;
    const isLater = route.provider === "livekit";
    if (isLater) {
      world.mayStop("an agent is dispatched");
      const longestMs = (timeoutSeconds - splitTime(timeoutSeconds, agentWaitSeconds).call) * 1000;
      await world.wait(world.between(5, longestMs), "an agent is dispatched");
    }
    const ringSeconds = isLater ? splitTime(timeoutSeconds, agentWaitSeconds).call : timeoutSeconds;
    let outcome: Promise<DialOutcome> | undefined;
    const send: Send = async (_url, { mayLeave }) => {
      world.mayStop("a connection");
      await world.wait(world.between(1, 300), "a connection");
      if (mayLeave?.() === false) throw new Withheld("not any more");
      outcome = answered(request, route, { at, timeoutMs: ringSeconds * 1000 });
      return new Response();
    };
    const { signal } = new AbortController();
    const sent = { headers: {}, redirect: "manual", signal } as const;
    await guarded(send, ringSeconds)("https://provider.example", sent);
    return outcome ?? { kind: "unknown", code: "nothing_sent" };
  }

  async function answered(
    { call, attempt, callbackUrl }: Parameters<DialingProvider<Route>["dial"]>[0],
    route: Route,
    { at, timeoutMs }: { at: number; timeoutMs: number },
  ): Promise<DialOutcome> {
    world.note(`request ${call.id} attempt ${attempt} to ${accountNameOf(route)}`);
    const account = accountNameOf(route);
    const leftAt = world.now();
    const request = { id: call.id, account, route, at, leftAt, timeoutMs };
    requests.push(request);
    if (callbackUrl !== undefined) callbacks().offer(callbackUrl);
    const key = keyOf(call.id, attempt, route);
    const answer = async (mostMs: number, outcome: DialOutcome): Promise<DialOutcome> => {
      world.mayStop("a provider answers");
      await world.wait(Math.min(world.between(5, mostMs), timeoutMs), "a provider answers");
      return outcome;
    };
    const known = key === undefined ? undefined : remembered.get(key);
    if (known !== undefined && known.until > leftAt) {
      stats.suppressed += 1;
      return answer(100, { kind: "placed", providerCallId: known.providerCallId });
    }
    const place = (afterMs: number): string => {
      doomed.add(call.id);
      const providerCallId = `provider_${world.hex()}`;
      const until = leftAt + (route.provider === "telnyx" ? commandMemoryMs : Infinity);
      if (key !== undefined) remembered.set(key, { providerCallId, until });
      world.after(afterMs, "a phone rings", () => {
        world.note(`placed ${call.id}`);
        const { phone_number: number, context = {} } = call.request;
        const mark = context["mark"] ?? "";
        const life = lifeFrom(world, callbacks().mayWish(call.request.agent_id));
        const placedAt = world.now();
        const placement = { ...request, number, mark, placedAt, providerCallId, life };
        placements.push(placement);
        if (callbackUrl !== undefined) callbacks().follow(placement, callbackUrl);
      });
      return providerCallId;
    };
    const quick = Math.min(timeoutMs, 2000);
    const unknown = () =>
      world.chance(0.5)
        ? answer(quick, { kind: "unknown", code: "http_500" })
        : world
            .wait(timeoutMs, "a provider hangs")
            .then((): DialOutcome => ({ kind: "unknown", code: "timeout" }));
    const fate = chosen();
    switch (fate) {
      case "placed":
        return answer(quick, { kind: "placed", providerCallId: place(world.between(1, 1000)) });
      case "lost":
        place(world.between(1, timeoutMs));
        return unknown();
      case "vanished":
        return unknown();
      case "late":
        place(timeoutMs + world.between(1, lateMsMax));
        return unknown();
      case "busy": {
        const retryAfterSeconds = world.chance(0.5) ? world.between(1, 600) : undefined;
        return answer(quick, { kind: "not_placed", code: "rate_limited", retryAfterSeconds });
      }
      case "rejected":
        return answer(quick, { kind: "rejected", code: "http_422" });
      case "accountRefused":
        return answer(quick, { kind: "account_refused", code: "http_402" });
      case "routeRefused":
        return answer(quick, { kind: "route_refused", code: "from_not_verified" });
      case "forbidden":
        return answer(quick, { kind: "forbidden", code: "http_403" });
      case "mute":
        throw new Error("no fate of a request");
    }
  }

  const lookUp: NonNullable<DialingProvider<Route>["lookUp"]> = async (
    { call, from, until },
    route,
  ): Promise<FoundCall | undefined> => {
    await world.wait(world.between(10, 5000), "a look-up");
    if (world.chance(fates().mute)) throw new OutsideError("no records for +12125550100");
    const lag = world.random() * listLagMs;
    const listed = placements.filter(
      ({ account, placedAt }) => account === accountNameOf(route) && placedAt <= world.now() - lag,
    );
    if (route.provider === "twilio") {
      const providerCallIds = listed
        .filter(({ number }) => number === call.request.phone_number)
        .filter(({ placedAt }) => placedAt >= from && placedAt <= until)
        .map(({ providerCallId }) => providerCallId);
      return { by: "number", providerCallIds };
    }
    const own = listed.find(({ id }) => id === call.id);
    return own && { by: "id", providerCallId: own.providerCallId };
  };

  const { unreadableAt, readResult, listResults } = createRecords(
    world,
    placements,
    () => fates().mute,
  );
  /** Returns how a webhook's signed callbacks are read; nothing for other providers. */
  const signedBy = ({ provider }: Route): Pick<DialingProvider<Route>, "readCallback"> => {
    const { readCallback } = callbacks();
    return provider === "webhook" && readCallback !== undefined ? { readCallback } : {};
  };

  return {
    requests,
    placements,
    isPlaced: (id: string) => doomed.has(id),
    stats,
    unreadableAt,
    providerOf: (route: Route): DialingProvider<Route> =>
      isTelling(route) ? { dial, lookUp, readResult, listResults } : { dial, ...signedBy(route) },
  };
}

const fateNames = [
  "lost",
  "vanished",
  "late",
  "busy",
  "rejected",
  "accountRefused",
  "routeRefused",
  "forbidden",
] as const;

function fateNamed(name: string): (typeof fateNames)[number] | "placed" {
  return fateNames.find((one) => one === name) ?? "placed";
}
