import type { RouteTable } from "#shared/dial-plan/route-table.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { backlogOfKey } from "#shared/calls/call-row.ts";
import { findAgentRoute, findRetry } from "#shared/dial-plan/dial-plan.ts";
import { divideReason } from "#shared/calls/reasons.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import type { ProblemError } from "#functions/api/http/problem.ts";
import { toIsoTime } from "#functions/api/http/fields.ts";
import type { Forecasted, ForecastedCalls } from "./forecast-calls.ts";
import {
  type AccountForecast,
  type ForecastItem,
  type ForecastSummary,
  itemErrorsMax,
  type Outcome,
  reasonsMax,
  type RuleForecast,
} from "./forecast-schema.ts";
import type { ControlsRead } from "./read-controls.ts";
import { longestOf } from "./run-queues.ts";
import type { Pace } from "#shared/telephony/rate.ts";
import { giveWay } from "#shared/lib/slices.ts";
import { hourMs } from "#shared/lib/units.ts";

/** A call that is dialed, with the time. */
type Dialed = Forecasted & { end: { kind: "dialed"; at: number } };

/** Summarizes the ends of calls under a plan. It goes through them several times, and gives way in between. */
export async function summarize(
  { table, posted, waiting }: ForecastedCalls,
  read: Pick<ControlsRead, "agentsCut" | "isCut" | "seenPaces">,
): Promise<ForecastSummary> {
  const dialed = posted.filter(isDialed);
  const counts = { refused: 0, rejected: 0, expire: 0, blocked: 0, wait: 0, now: 0 };
  for (const one of posted) counts[outcomeOf(one)] += 1;
  const unreadFrom = posted.findIndex(({ isUnread }) => isUnread);
  await giveWay();
  const laterTries = dialed.reduce((sum, one) => sum + laterTriesOf(one, table.plan), 0);
  await giveWay();
  const reasons = reasonsOf(posted);
  await giveWay();
  const accounts = listAccounts({ table, posted, waiting }, read);
  await giveWay();
  const rules = rulesOf(dialed);
  await giveWay();
  return {
    counts,
    ...timesOf(dialed),
    reasons,
    accounts,
    rules,
    hours: hoursOf(dialed),
    unread: posted.filter(({ isUnread }) => isUnread).length,
    unread_from: unreadFrom === -1 ? null : unreadFrom,
    ...(laterTries === 0 ? {} : { later_tries: laterTries }),
  };
}

/** Returns the number of tries that may follow a dialed call, at most. */
function laterTriesOf({ backlog }: Dialed, plan: DialPlan): number {
  if (backlog === undefined) return 0;
  const { attempts = 1 } = findRetry(backlogOfKey(backlog).agentId, plan) ?? {};
  return attempts - 1;
}

/** Describes the calls one by one; without `all`, only those that are not dialed. Lists at most 10,000 errors. */
export function describeItems(
  posted: readonly Forecasted[],
  which: "problems" | "all",
): ForecastItem[] {
  const items: ForecastItem[] = [];
  let errorsLeft = itemErrorsMax;
  for (let index = 0; index < posted.length; index++) {
    const one = posted[index];
    if (one === undefined) continue;
    const outcome = outcomeOf(one);
    if (which === "problems" && (outcome === "wait" || outcome === "now")) continue;
    const { end, account, isUnread } = one;
    const item: ForecastItem = { index, outcome };
    if (end.kind === "dialed") item.at = toIsoTime(end.at);
    if (account !== null) item.account = account;
    const reason = reasonOfCall(one);
    if (reason !== undefined) item.reason = reason;
    const errors = end.kind === "refused" ? pointedIn(end.errors).slice(0, errorsLeft) : [];
    errorsLeft -= errors.length;
    if (errors.length > 0) item.errors = errors;
    if (isUnread) item.is_unread = true;
    items.push(item);
  }
  return items;
}

function outcomeOf({ end, delays }: Forecasted): Outcome {
  if (end.kind !== "dialed") return end.kind;
  return delays.length === 0 ? "now" : "wait";
}

const isDialed = (one: Forecasted): one is Dialed => one.end.kind === "dialed";

/** Returns why a call is not dialed, or what delays it longest; undefined for refused calls, and those without a delay. */
function reasonOfCall({ end, delays }: Forecasted): string | undefined {
  if (end.kind === "refused") return undefined;
  if (end.kind !== "dialed") return end.reason;
  return longestOf(delays)?.reason;
}

function timesOf(dialed: readonly Dialed[]): { first_at: string | null; last_at: string | null } {
  if (dialed.length === 0) return { first_at: null, last_at: null };
  let [first, last] = [Infinity, -Infinity];
  for (const { end } of dialed) {
    if (end.at < first) first = end.at;
    if (end.at > last) last = end.at;
  }
  return { first_at: toIsoTime(first), last_at: toIsoTime(last) };
}

/** Returns the errors of a body. Those of headers cannot be among a call's. */
function pointedIn(errors: readonly ProblemError[]): { pointer: string; detail: string }[] {
  return errors.flatMap((error) => ("pointer" in error ? error : []));
}

/** Counts why calls are not dialed, the most frequent reason first. */
function reasonsOf(posted: readonly Forecasted[]): ForecastSummary["reasons"] {
  const counted = new Map<string, ForecastSummary["reasons"][number]>();
  for (const one of posted) {
    const outcome = outcomeOf(one);
    if (outcome === "wait" || outcome === "now") continue;
    const { end } = one;
    const why =
      end.kind === "refused" ? pointedIn(end.errors).map(fieldAndError) : [reasonOfCall(one) ?? ""];
    for (const reason of new Set(why)) {
      const key = `${outcome} ${reason}`;
      const known = counted.get(key);
      if (known === undefined) counted.set(key, { outcome, reason, calls: 1 });
      else known.calls += 1;
    }
  }
  return [...counted.values()].toSorted((a, b) => b.calls - a.calls).slice(0, reasonsMax);
}

/** Formats an error without the call's index: `/agent_id is no agent of the dial plan`. */
function fieldAndError({ pointer, detail }: { pointer: string; detail: string }): string {
  return `${pointer.replace(/^\/\d+/, "")} ${detail}`.trim();
}

function listAccounts(
  { table, posted, waiting }: ForecastedCalls,
  { agentsCut, isCut, seenPaces }: Pick<ControlsRead, "agentsCut" | "isCut" | "seenPaces">,
): AccountForecast[] {
  const named = (agents: Iterable<string>) =>
    [...agents].map((agent) => {
      const route = findAgentRoute(agent, table.plan);
      return route === undefined ? null : accountNameOf(route);
    });
  const cut = new Set(named(agentsCut));
  const own = Map.groupBy(
    posted.filter(({ end }) => end.kind !== "refused"),
    ({ account }) => account,
  );
  const others = Map.groupBy(waiting, ({ account }) => account);
  const paces = pacesOf(table);
  return [...new Set([...own.keys(), ...others.keys()])].toSorted(byName).map((account) => {
    const dialed = (own.get(account) ?? []).filter(isDialed);
    const last = dialed.reduce<Dialed | undefined>(
      (latest, one) => (latest !== undefined && latest.end.at > one.end.at ? latest : one),
      undefined,
    );
    const rows = others.get(account) ?? [];
    const count = (kind: string) => rows.filter(({ end }) => end.kind === kind).length;
    const longest = longestOf(last?.delays ?? []);
    return {
      account,
      calls: dialed.length,
      ...timesOf(dialed),
      limit: longest === undefined ? null : divideReason(longest.reason).reason,
      rule: longest?.rule ?? null,
      calls_per_second: (account === null ? undefined : paces.get(account)) ?? null,
      seen_calls_per_second: seenIn(seenPaces, account),
      waiting: {
        calls: rows.length,
        last_at: timesOf(rows.filter(isDialed)).last_at,
        expire: count("expire"),
        blocked: count("blocked"),
        is_whole: !isCut && !cut.has(account),
      },
    };
  });
}

function byName(one: string | null, other: string | null): number {
  return (one ?? "") < (other ?? "") ? -1 : 1;
}

function seenIn(seenPaces: ReadonlyMap<string, Pace>, account: string | null): number | null {
  const seen = account === null ? undefined : seenPaces.get(account);
  return seen === undefined ? null : perSecondOf(seen);
}

function perSecondOf({ intervalUs }: Pace): number {
  return Math.round((1_000_000 / intervalUs) * 10_000) / 10_000;
}

/** Returns the calls per second of each account of a plan that has a pace. */
function pacesOf(table: RouteTable): Map<string, number> {
  return new Map(
    Object.values(table.plan.agents).flatMap((route): [string, number][] => {
      const { pace } = table.account(route);
      if (pace === undefined) return [];
      return [[accountNameOf(route), perSecondOf(pace)]];
    }),
  );
}

/** Adds up the delays of dialed calls by rule, the longest sum first. */
function rulesOf(dialed: readonly Dialed[]): RuleForecast[] {
  const sums: (RuleForecast & { ms: number })[] = [];
  for (const { delays } of dialed) {
    for (const { reason, rule, ms } of delays) {
      const limit = divideReason(reason).reason;
      let sum = sums.find((one) => one.rule === rule && one.limit === limit);
      if (sum === undefined) {
        sum = { limit, rule, calls: 0, seconds: 0, seconds_max: 0, ms: 0 };
        sums.push(sum);
      }
      sum.calls += 1;
      sum.ms += ms;
      sum.seconds_max = Math.max(sum.seconds_max, Math.ceil(ms / 1000));
    }
  }
  return sums
    .toSorted((a, b) => b.ms - a.ms)
    .map(({ ms, ...sum }) => ({ ...sum, seconds: Math.ceil(ms / 1000) }));
}

/** Counts dialed calls by the hour and account, in the order of time. */
function hoursOf(dialed: readonly Dialed[]): ForecastSummary["hours"] {
  const hours = new Map<number, { at: number; account: string; calls: number }[]>();
  for (const { end, account } of dialed) {
    const at = Math.floor(end.at / hourMs) * hourMs;
    let counts = hours.get(at);
    if (counts === undefined) hours.set(at, (counts = []));
    const count = counts.find((one) => one.account === account);
    if (count === undefined) counts.push({ at, account: account ?? "", calls: 1 });
    else count.calls += 1;
  }
  return [...hours.values()]
    .flat()
    .toSorted((a, b) => a.at - b.at || (a.account < b.account ? -1 : 1))
    .map(({ at, account, calls }) => ({ hour: toIsoTime(at), account, calls }));
}
