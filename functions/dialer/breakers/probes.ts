import type { BreakerDocument } from "../../../shared/documents/breakers.ts";
import type { DialerDeps } from "../context.ts";

/** Interval from opening a breaker to its first probe, and the longest interval between probes, in milliseconds. */
export const intervals = {
  /** Requests stayed unanswered. */
  outage: { first: 15_000, last: 120_000 },
  /** The provider refused the account or the route. */
  refusal: { first: 60_000, last: 900_000 },
  /** A trickle of one call of the agent at a time, so that a bad list delays its own agent only. */
  agent: { first: 8_000, last: 8_000 },
  /** A receiver of events failed: its events wait in the ledger meanwhile. */
  receiver: { first: 60_000, last: 900_000 },
} as const;
export type Trouble = keyof typeof intervals;

/** Time after which an open breaker that nobody probes expires. */
export const breakerLifeMs = 7 * 86_400_000;

/** A probe that was taken. `giveBack` frees it for another call if no request was sent. */
export interface Probe {
  giveBack(): Promise<void>;
}

/**
 * Takes the probe of every open breaker, by a write that only one caller can win.
 *
 * @returns undefined if another call has a probe, or its time has not come
 */
export async function takeProbe(
  breakers: readonly BreakerDocument[],
  { documents, clock, random }: Pick<DialerDeps, "documents" | "clock" | "random">,
): Promise<Probe | undefined> {
  const taken: { before: BreakerDocument; version: string }[] = [];
  const probe: Probe = {
    async giveBack() {
      const changes = taken.map(({ before, version }) => ({
        next: { ...before, version: random.version() },
        seen: version,
      }));
      if (changes.length > 0) await documents.write(changes);
    },
  };
  for (const before of breakers) {
    const now = clock.now();
    const { intervalMs, probeAt } = before.value;
    const { last } = intervals[troubleOf(before)];
    const version = random.version();
    const value = {
      ...before.value,
      probeAt: now + intervalMs,
      intervalMs: grown(intervalMs, last),
    };
    const next = { ...before, value, version, expiresAt: now + breakerLifeMs };
    const [isTaken] =
      probeAt > now ? [false] : await documents.write([{ next, seen: before.version }]);
    if (isTaken !== true) {
      await probe.giveBack();
      return undefined;
    }
    taken.push({ before, version });
  }
  return probe;
}

/**
 * Times from `from` up to `until` at which an open breaker admits a probe if each probe fails; in
 * milliseconds since the epoch.
 */
export function probeTimesOf(breaker: BreakerDocument, from: number, until: number): number[] {
  const { last } = intervals[troubleOf(breaker)];
  const times: number[] = [];
  let { intervalMs } = breaker.value;
  for (let at = Math.max(from, breaker.value.probeAt); at <= until;) {
    times.push(at);
    at += Math.max(1000, intervalMs);
    intervalMs = grown(intervalMs, last);
  }
  return times;
}

function grown(intervalMs: number, last: number): number {
  return Math.min(intervalMs * 2, Math.max(last, intervalMs));
}

function troubleOf({ key, value }: BreakerDocument): Trouble {
  if (key.startsWith("agent:")) return "agent";
  if (key.startsWith("receiver:")) return "receiver";
  return value["trouble"] === "outage" ? "outage" : "refusal";
}
