import { createRouteTable } from "../support/plans.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { breakerNamesOf } from "#shared/policy/breakers.ts";
import { checkBreakerOf } from "#shared/rules/resolved-call.ts";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import type { DocumentVersion } from "./documents.ts";
import type { RowVersion } from "./ledger.ts";
import { pauseKeysOf } from "#shared/rules/pause.ts";

/** The versions of rows and documents, and the dispatches of a run. */
export interface Turned {
  plan: DialPlan;
  rows: readonly RowVersion[];
  /** Times for which only a later version of the code could read a row. */
  hidden: readonly (Span & { id: string })[];
  documents: readonly DocumentVersion[];
  dispatches: readonly { message: Extract<Message, { kind: "dispatch" }>; at: number }[];
  /** Time from which on nothing fails, and the end of the run. */
  calmFrom: number;
  endAt: number;
}

/** Maximum time until a row that may go is dispatched, besides those that go before it. */
const dispatchMsMax = 90_000;
/** Time of one call of an account without a pace, at which those that wait before a row go. */
const callMs = 2_000;

/** A time, in milliseconds since the epoch. */
interface Span {
  from: number;
  until: number;
}

interface WaitingSpan extends Span {
  id: string;
  account: string;
  route: Route;
  client: string;
  agentId: string;
  isUrgent: boolean;
}

/**
 * Checks that every row that is due, and that neither a pause nor a breaker holds, is dispatched within 90 s and the time of
 * the calls before it. Nothing that stands WAITING and due is ever invisible.
 */
export function turnViolations(turned: Turned): string[] {
  const { plan, hidden, documents, dispatches, calmFrom, endAt } = turned;
  const waiting = waitingOf(turned);
  const held = blockedBy(documents, endAt);
  const dispatchedAt = new Map<string, number[]>();
  for (const { message, at } of dispatches) {
    for (const { id } of message.rows) dispatchedAt.set(id, [...(dispatchedAt.get(id) ?? []), at]);
  }
  return waiting.flatMap((one) => {
    const { client, agentId, route, account, id } = one;
    const ofChecks = route.checks?.map(checkBreakerOf) ?? [];
    const breakers = [...breakerNamesOf({ client, agentId }, { account }), ...ofChecks];
    const names = [
      ...breakers.map((key) => `breaker ${key}`),
      ...pauseKeysOf({ client, agentId }, route).map(({ kind, key }) => `${kind} ${key}`),
    ];
    const obstacles = [
      ...hidden.filter((other) => other.id === id),
      ...names.flatMap((name) => held.get(name) ?? []),
    ];
    return without([one], obstacles).flatMap((free) => {
      const from = Math.max(free.from, calmFrom);
      const own = waiting.filter((other) => other.account === account && other.until > from);
      // Later urgent calls of its client go before it.
      const goesBefore = (other: WaitingSpan) =>
        other.from <= from ||
        (other.isUrgent && other.client === client && other.from < free.until);
      const beforeNow = own.filter(goesBefore).length;
      const { pace } = createRouteTable(plan).account(route);
      const eachMs = pace === undefined ? callMs : pace.intervalUs / 1000;
      const most = dispatchMsMax + beforeNow * eachMs;
      const times = (dispatchedAt.get(id) ?? []).filter((at) => at > from && at < free.until);
      const isLate = [...times, free.until].some(
        (at, index) => at - (times[index - 1] ?? from) > most,
      );
      return isLate
        ? [`not dispatched: ${id} of ${agentId}, from ${iso(from)} to ${iso(free.until)}`]
        : [];
    });
  });
}

/** Returns the times at which rows stood WAITING and due. */
function waitingOf({ plan, rows, endAt }: Turned): WaitingSpan[] {
  return [...Map.groupBy(rows, ({ id }) => id)].flatMap(([id, versions]) =>
    versions.flatMap(({ at, json }, index) => {
      const { state, dueAt, client, agentId, isUrgent = false }: RowText = JSON.parse(json);
      const route = findAgentRoute(agentId, plan);
      const from = Math.max(at, dueAt ?? Infinity);
      const until = versions[index + 1]?.at ?? endAt;
      if (state !== "WAITING" || route === undefined || from >= until) return [];
      return [{ id, account: accountNameOf(route), route, client, agentId, isUrgent, from, until }];
    }),
  );
}

/** Returns the times for which each breaker was not closed, and for which each pause stood. */
function blockedBy(documents: readonly DocumentVersion[], endAt: number): Map<string, Span[]> {
  const byName = Map.groupBy(documents, ({ kind, key }) => `${kind} ${key}`);
  return new Map(
    [...byName].map(([name, versions]) => [
      name,
      versions.flatMap(({ at, json, expiresAt }, index) => {
        const { state }: { state?: string } =
          json === null ? { state: "closed" } : JSON.parse(json);
        const until = Math.min(versions[index + 1]?.at ?? endAt, expiresAt ?? Infinity);
        return state === "closed" || until <= at ? [] : [{ from: at, until }];
      }),
    ]),
  );
}

/** Returns what is left of spans without the obstacles. */
function without(spans: readonly Span[], obstacles: readonly Span[]): Span[] {
  let left: Span[] = spans.map(({ from, until }) => ({ from, until }));
  for (const obstacle of obstacles) {
    left = left.flatMap(({ from, until }) =>
      [
        { from, until: Math.min(until, obstacle.from) },
        { from: Math.max(from, obstacle.until), until },
      ].filter((one) => one.until > one.from),
    );
  }
  return left;
}

interface RowText {
  state: string;
  dueAt?: number;
  client: string;
  agentId: string;
  isUrgent?: boolean;
}

const iso = (at: number) => new Date(at).toISOString();
