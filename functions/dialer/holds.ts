import { createHash } from "node:crypto";
import type { CallLedger, Hold } from "../../shared/ledger/call-ledger.ts";
import type { Log } from "../../shared/log.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";

/** One 401 or 402 holds the account: every other call would be answered the same. */
const accountStrikesMax = 1;
/** Equal refusals in a row, without a success, that look like a wrong URL or agent and not like bad calls. */
const routeStrikesMax = 5;

export function accountHoldName(route: Route): string {
  return `account:${route.provider}`;
}

/** By the route's own fields: a corrected plan has another name, so it is not held. */
export function routeHoldName(route: Route): string {
  return `route:${createHash("sha256").update(JSON.stringify(route)).digest("hex").slice(0, 16)}`;
}

/** Milliseconds until the next probe: a minute, doubled with each failed one, at most 15 minutes. */
export function probeDelayMs(strikesPastHold: number): number {
  return Math.min(60_000 * 2 ** Math.max(0, strikesPastHold), 900_000);
}

/** When a held account or route is probed next, if the probe that starts now brings nothing. */
export function nextProbeAt({ name, count }: Hold, now: number): number {
  const strikesMax = name.startsWith("account:") ? accountStrikesMax : routeStrikesMax;
  return now + probeDelayMs(count - strikesMax);
}

/**
 * Keeps the strikes of a route and its account after an outcome: a refusal counts, a success clears.
 *
 * @param holds as read before the dial; what it does not name has nothing to clear
 * @returns the hold of the account, where this outcome keeps its calls waiting
 */
export async function keepStrikes(
  outcome: DialOutcome,
  route: Route,
  holds: readonly Hold[],
  { ledger, log, now }: { ledger: CallLedger; log: Log; now: number },
): Promise<Hold | undefined> {
  const account = accountHoldName(route);
  const byRoute = routeHoldName(route);
  const struck = (name: string) => holds.find((hold) => hold.name === name);
  const strike = async (name: string, code: string, strikesMax: number) => {
    const before = struck(name);
    const strikes = before?.code === code ? before.count + 1 : 1;
    const probeAt = now + probeDelayMs(strikes - strikesMax);
    const hold = await ledger.strike(name, code, strikesMax, probeAt);
    if (hold.probeAt !== null) {
      const due_at = new Date(hold.probeAt).toISOString();
      const held = name === account ? "account.held" : "route.held";
      log("alarm", held, { hold: name, provider: route.provider, code, count: hold.count, due_at });
    }
    return hold;
  };
  const clear = async (name: string) => {
    const hold = struck(name);
    if (hold === undefined) return;
    await ledger.clearHold(name);
    if (hold.probeAt !== null)
      log("info", "hold.released", { hold: name, provider: route.provider });
  };

  switch (outcome.kind) {
    case "account_refused":
      return strike(account, outcome.code, accountStrikesMax);
    case "rejected":
      await clear(account); // the account was good enough to read the call
      await strike(byRoute, outcome.code, routeStrikesMax);
      return undefined;
    case "placed":
      await clear(account);
      await clear(byRoute);
      return undefined;
    case "not_placed":
    case "forbidden":
    case "unknown":
      return undefined;
  }
}
