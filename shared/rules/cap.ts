import { overCapMs } from "../lib/timing.ts";
import type { Call, CallRequest, Route } from "../calls/call-request.ts";
import { hashedNumberOf } from "../calls/ids.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";
import { type FrequencyCap, freeAt } from "../telephony/frequency-cap.ts";
import type { ClaimedCall, Facts, Taking, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall, ResolvedRoute } from "./resolved-call.ts";

const reason = "max_calls";

/** Times at which a number may be called again: `at` if all calls to it stay counted, `atBest` if those in progress do not. */
export interface Free {
  at: number;
  atBest: number;
}

/**
 * Returns both times, as `freeAt` does.
 *
 * @param all times of the other calls to the number, in any order
 */
export function findFree(all: readonly number[], caps: readonly FrequencyCap[], at: number): Free {
  const over = all.filter((time) => time <= at - overCapMs);
  return { at: freeAt(all, caps, at), atBest: freeAt(over, caps, at) };
}

/** A call that its number's caps delayed last expires for that reason. */
export function admit(
  { expiresAt, row }: Pick<ResolvedCall, "expiresAt" | "row">,
  { at }: Pick<Facts, "at">,
): Verdict | undefined {
  if (at < expiresAt || row?.reason !== reason) return undefined;
  return { kind: "end", state: "EXPIRED", reason };
}

/**
 * Judges a call whose number has been called as often as its caps allow: it waits until the number is free. If that
 * is after its lifetime, the call waits at least once, and as long as calls in progress may still be removed from the
 * cap, and then expires.
 */
function judgeFull(
  {
    expiresAt,
    row,
  }: { expiresAt: number; row: Pick<NonNullable<ResolvedCall["row"]>, "reason"> | undefined },
  { free, now }: { free: Free; now: number },
): Exclude<Verdict, { kind: "hold" }> {
  if (free.at < expiresAt) return { kind: "later", reason, at: free.at };
  if (row?.reason === reason && free.atBest >= expiresAt)
    return { kind: "end", state: "EXPIRED", reason };
  return { kind: "later", reason, at: Math.min(now + overCapMs, expiresAt) };
}

/** The caps of the numbers of one delivery's calls. */
export interface NumberCaps {
  /** Counts a call at the time of its permit. `free`: undefined if that is not known, or if there is no permit. */
  count(
    claim: ClaimedCall,
    route: Route,
    permit: Promise<{ permitAt: number } | undefined>,
  ): Promise<{ isCounted: true } | { isCounted: false; free: Free | undefined }>;
  /** Returns when the number of a call is free. */
  free(call: Call, route: Route): Promise<Free>;
  /** Removes the entry of a call that surely was not placed. Never throws. */
  release(claim: ClaimedCall, route: Route): Promise<void>;
}

/** Looks if the number has been called as often as it may be. The call is counted later, under its claim. */
export async function peek(
  call: ResolvedCall & { target: ResolvedRoute },
  { caps, clock }: { caps: Pick<NumberCaps, "free">; clock: { now(): number } },
): Promise<Verdict | undefined> {
  const now = clock.now();
  const free = await caps.free(call.call, call.target.route);
  return free.at <= now ? undefined : judgeFull(call, { free, now });
}

/** Names the documents of a number's caps, where one applies to a call. */
export function numberKeys(
  { request, hashes }: { request: CallRequest; hashes: readonly string[] },
  route: Route,
  { schedule }: Pick<Facts, "schedule">,
): DocumentKey[] {
  if (schedule.capsOf(request, route).caps.length === 0) return [];
  return hashes.map((key) => ({ kind: "cap", key }));
}

/** Returns the times at which a number was called, each call once; in milliseconds since the epoch. */
export function timesIn(hashes: readonly string[], read: DocumentsRead): number[] {
  const latest = new Map<string, number>();
  for (const { call, at } of hashes.flatMap((hash) => read.get("cap", hash)?.value.entries ?? []))
    latest.set(call, Math.max(at, latest.get(call) ?? 0));
  return [...latest.values()];
}

/** The caps of numbers in a forecast. `name`: that of the cap which a call waits for. */
export interface SimulatedNumbers {
  judge(
    call: ResolvedCall & { target: ResolvedRoute },
    at: { reason: string | undefined; now: number },
  ): { verdict: Exclude<Verdict, { kind: "hold" }>; name: string } | undefined;
  /** Counts a call that is dialed. */
  count(call: ResolvedCall & { target: ResolvedRoute }, now: number): void;
}

/** @param called times at which numbers were called, in milliseconds since the epoch */
export function simulate(
  called: ReadonlyMap<string, readonly number[]>,
  { schedule }: Pick<Facts, "schedule">,
): SimulatedNumbers {
  const timesOf = new Map(called);
  return {
    judge({ call, target, expiresAt }, { reason: last, now }) {
      const times = timesOf.get(hashedNumberOf(call));
      if (times === undefined) return undefined;
      const { caps } = schedule.capsOf(call.request, target.route);
      const free = findFree(times, caps, now);
      if (free.at <= now) return undefined;
      const name = caps.find((cap) => freeAt(times, [cap], now) === free.at)?.name ?? "";
      const row = last === undefined ? undefined : { reason: last };
      return { verdict: judgeFull({ expiresAt, row }, { free, now }), name };
    },
    count({ call, target }, now) {
      if (!schedule.capsOf(call.request, target.route).isCounted) return;
      const number = hashedNumberOf(call);
      timesOf.set(number, [...(timesOf.get(number) ?? []), now]);
    },
  };
}

/** Counts the call towards the caps of its number. After an error it may be counted, and is given back. */
export function take(
  claim: ClaimedCall,
  {
    caps,
    permit,
    clock,
  }: {
    caps: NumberCaps;
    permit: Promise<{ permitAt: number } | undefined>;
    clock: { now(): number };
  },
): Taking {
  const { dial } = claim;
  const { route } = dial.target;
  let refused: { free: Free | undefined } | undefined;
  const settled = caps.count(claim, route, permit).then((count) => {
    refused = count.isCounted ? undefined : count;
    return count;
  });
  return {
    settled,
    verdict() {
      if (refused === undefined) return undefined;
      const { free } = refused;
      if (free === undefined) return { kind: "hold", reason };
      return judgeFull(dial, { free, now: clock.now() });
    },
    give: async () => (refused === undefined ? caps.release(claim, route) : undefined),
  };
}

export const texts: Texts = {
  max_calls: {
    means: "The number has reached the plan's maxCalls; of an EXPIRED call: this delayed it last.",
    holds: (name) => `The numbers have reached their maximum of calls${ruleText(name)}.`,
    endedBy: "time",
  },
};

function ruleText(rule: string): string {
  return rule === "" ? "" : ` (${rule})`;
}
