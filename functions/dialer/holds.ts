import { createHash } from "node:crypto";
import type { CallLedger, Hold } from "../../shared/ledger/call-ledger.ts";
import type { Log } from "../../shared/log.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";

/** One 401 or 402 holds the account: every other call would be answered the same. */
const accountStrikesMax = 1;
/** Equal refusals in a row, without a success, that look like a wrong URL or agent and not like bad calls. */
const routeStrikesMax = 5;
/** A refusal of what the route itself brings holds it at once. */
const routeRefusalsMax = 1;

function accountHoldName(route: Route): string {
  return `account:${accountNameOf(route)}`;
}

/** By the route's own fields: a corrected plan has another name, so it is not held. */
function routeHoldName(route: Route): string {
  return `route:${createHash("sha256").update(JSON.stringify(route)).digest("hex").slice(0, 16)}`;
}

/** The hold that keeps calls of this route waiting longest; once its `probeAt` has come, one may go. */
export function heldBy(
  route: Route,
  holds: readonly Hold[],
): (Hold & { probeAt: number }) | undefined {
  const holding = holds.flatMap(({ probeAt, ...hold }) =>
    probeAt === null ? [] : { ...hold, probeAt },
  );
  if (holding.length === 0) return undefined; // as a rule: a route's name is a hash
  const names = new Set([accountHoldName(route), routeHoldName(route)]);
  return holding.filter(({ name }) => names.has(name)).toSorted((a, b) => b.probeAt - a.probeAt)[0];
}

/** When a held account is probed next; undefined where it is not held. */
export function probeOf(account: string, holds: readonly Hold[]): number | undefined {
  return holds.find(({ name }) => name === `account:${account}`)?.probeAt ?? undefined;
}

/** When a call that waits for a probe is due: some seconds apart, so that each time another one probes. */
export function heldUntil(probeAt: number, fraction: number): number {
  return Math.round(probeAt + fraction * 5000);
}

export function isOfAccount({ name }: Pick<Hold, "name">): boolean {
  return name.startsWith("account:");
}

export function holdReason(hold: Hold): string {
  return isOfAccount(hold) ? "account_held" : "route_held";
}

/** When the next probe goes: in a minute, doubled with each failed one, at most in 15 minutes. */
function nextProbeAt(name: string, count: number, now: number): number {
  const strikesMax = isOfAccount({ name }) ? accountStrikesMax : routeStrikesMax;
  return now + Math.min(60_000 * 2 ** Math.max(0, count - strikesMax), 900_000);
}

/** The holds as one delivery knows them: read at its start, and changed by what its calls bring. */
export function createHolds(
  read: readonly Hold[],
  { ledger, log }: { ledger: CallLedger; log: Log },
) {
  const known = new Map(read.map((hold) => [hold.name, hold]));

  async function strike(name: string, code: string, holdFrom: number, at: number) {
    const probeAt = nextProbeAt(name, holdFrom, at);
    const hold = await ledger.strike({ name, code, holdFrom, probeAt, at });
    const isKnown = known.get(name)?.probeAt === hold.probeAt;
    known.set(name, hold);
    if (hold.probeAt !== probeAt || isKnown) return;
    const event = isOfAccount({ name }) ? "account.held" : "route.held";
    const due_at = new Date(probeAt).toISOString();
    log("alarm", event, { hold: name, code, count: hold.count, due_at });
  }

  async function clear(name: string) {
    const hold = known.get(name);
    if (hold === undefined) return;
    await ledger.clearHold(name);
    known.delete(name);
    if (hold.probeAt !== null) log("info", "hold.released", { hold: name });
  }

  return {
    /** The hold that a call must wait for; undefined where it may go, as the probe where one is due. */
    async waitFor(route: Route, now: number): Promise<(Hold & { probeAt: number }) | undefined> {
      const held = heldBy(route, [...known.values()]);
      if (held === undefined || held.probeAt > now) return held;
      const count = held.count + 1;
      const moved = { ...held, count, probeAt: nextProbeAt(held.name, count, now) };
      known.set(held.name, moved);
      return (await withTimeLimit(ledger.takeProbe(held, moved.probeAt), 5)) ? undefined : moved;
    },

    /** Keeps count after an outcome: a refusal is a strike, a success clears. */
    async keep(outcome: DialOutcome, route: Route, now: number): Promise<void> {
      if (outcome.kind === "placed" && known.size === 0) return;
      const account = accountHoldName(route);
      switch (outcome.kind) {
        case "account_refused":
          return strike(account, outcome.code, accountStrikesMax, now);
        case "rejected":
          await clear(account); // the account was good enough to judge the call
          return strike(routeHoldName(route), outcome.code, routeStrikesMax, now);
        case "route_refused":
          await clear(account);
          return strike(routeHoldName(route), outcome.code, routeRefusalsMax, now);
        case "placed":
          await clear(account);
          return clear(routeHoldName(route));
        case "not_placed":
        case "forbidden":
        case "unknown":
          return undefined;
      }
    },

    /** When the next probe of this route or its account goes. */
    probeAt: (route: Route): number | undefined => heldBy(route, [...known.values()])?.probeAt,
  };
}
