import { causes, nextIntervalMs, throttles } from "#shared/policy/breaker-causes.ts";
import {
  type BreakerDocument,
  isTestBreaker,
  mayProbe,
  shortNameOf,
} from "#shared/policy/breakers.ts";
import { backlogOf, type ClientAgent } from "#shared/calls/call-row.ts";
import type { BreakerCause, ValueOf } from "#shared/ports/document-kinds.ts";
import { ConflictError } from "#shared/lib/retry.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { dayMs, hourMs } from "#shared/lib/units.ts";

/** Time after which an open breaker that nobody probes expires. */
const breakerLifeMs = 7 * dayMs;
/** A half-open breaker that would permit more calls at once than this closes. */
const roomMax = 32;

type BreakerValue = ValueOf<"breaker">;
type BreakerDeps = Pick<DialerDeps, "documents" | "clock" | "random" | "log" | "memory">;

/**
 * Changes a breaker (`changeDocument`).
 *
 * @param change returns the new value, null to remove the breaker, or undefined to leave it
 * @returns the breaker before and after this change; undefined if it was left, or if other writes came first each
 * time
 */
export async function changeBreaker(
  key: string,
  change: (value: BreakerValue | undefined) => BreakerValue | null | undefined,
  deps: Pick<BreakerDeps, "documents" | "clock" | "random">,
): Promise<{ before: BreakerValue | undefined; after: BreakerValue | null } | undefined> {
  let isRemoved = false;
  const { before, after } = await changeDocument(
    {
      name: { kind: "breaker", key },
      change(current) {
        const changed = change(current);
        isRemoved = changed === null;
        const value = changed ?? (isRemoved ? current : undefined);
        if (value === undefined) return undefined;
        return { value, expiresAt: deps.clock.now() + (isRemoved ? 0 : breakerLifeMs) };
      },
    },
    deps,
  ).catch((error: unknown) => {
    // Other calls write it: all calls of a busy account do.
    if (error instanceof ConflictError) return { before: undefined, after: undefined };
    throw error;
  });
  if (after === undefined) return undefined;
  return { before, after: isRemoved ? null : after };
}

/** Reasons to open a breaker. */
export interface Opening {
  cause: BreakerCause;
  code: string;
  /**
   * Time of the request whose answer opens the breaker. An open breaker ignores answers to requests sent before it
   * opened.
   */
  sentAt: number;
  /** Time until the first probe, instead of the cause's. */
  waitMs?: number | undefined;
  /** Countries of the refused calls' numbers, which show the operator what the account may lack permission for. */
  countries?: string[];
  /** The failing backlogs, for an account's breaker. */
  blamed?: string[];
  /** Calls refused by then. */
  refused?: number;
  /** Advice to the operator, in our own words. */
  problem?: string;
  /** Key of a counter of alarms with the same cause, such as an agent. Only the first within an hour is an alarm. */
  alarms?: string;
}

/** Opens a breaker. If it is open for the same cause, only a wait that the provider asks for changes it. */
export async function openBreaker(
  key: string,
  opening: Opening,
  deps: BreakerDeps,
): Promise<boolean> {
  const { cause, code, sentAt, waitMs = 0, blamed = [], countries = [], problem, alarms } = opening;
  const counted = opening.refused === undefined ? {} : { refused: opening.refused };
  const { clock, log, memory } = deps;
  const now = clock.now();
  const [first = 0] = causes[cause].intervalsMs;
  const firstProbeAt = now + (waitMs || first);
  const changed = await changeBreaker(
    key,
    (value) => {
      if (value?.state !== "open") {
        const opened = {
          state: "open",
          cause,
          code,
          openedAt: now,
          probeAt: firstProbeAt,
        } as const;
        // If the breaker has not closed since it last opened, its intervals continue from the last one.
        const intervalMs = value?.state === "half_open" ? value.intervalMs : first;
        return { ...opened, intervalMs, room: 0, blamed, ...counted };
      }
      if (sentAt < value.openedAt) return undefined;
      // The wait that the provider asks for replaces the interval.
      if (value.cause === cause) {
        return waitMs > 0 ? { ...value, probeAt: firstProbeAt } : undefined;
      }
      const { refused: _, refusedProbes: __, alarmedAt: ___, ...kept } = value;
      return { ...kept, cause, code, probeAt: firstProbeAt, intervalMs: first, ...counted };
    },
    deps,
  );
  memory.documents.changed += 1;
  const isOpened = changed !== undefined && changed.before?.state !== "open";
  if (isOpened) {
    const fields = {
      breaker: key,
      code,
      ...(problem === undefined ? {} : { problem }),
      ...(countries.length === 0 ? {} : { countries: countries.toSorted().join(" ") }),
      due_at: new Date(firstProbeAt).toISOString(),
    };
    if (throttles.has(cause)) log("warning", "breaker.throttled", fields);
    else {
      const isQuiet = isTestBreaker(key) || (await isRepeated(alarms, deps));
      log(isQuiet ? "warning" : "alarm", "breaker.opened", fields);
    }
  }
  return isOpened;
}

/** Counts an alarm. Resolves to true if the same counter has had another within the hour. */
async function isRepeated(
  key: string | undefined,
  { documents, clock }: Pick<BreakerDeps, "documents" | "clock">,
): Promise<boolean> {
  if (key === undefined) return false;
  const name = { kind: "counters", key } as const;
  const counting = documents.add(name, { alarms: 1 }, clock.now() + hourMs);
  const all = await counting.catch(() => undefined); // without a count it is an alarm
  return (all?.["alarms"] ?? 0) > 1;
}

/**
 * Records an answer that may close a breaker. A placed call closes any breaker; another answer about a call closes
 * those whose cause is `isEndedByAnswer`. A breaker whose cause is `isHalfOpened` permits one call more after each
 * success until it closes: twice as many in each round.
 *
 * @param read the breaker as read for the call
 */
export async function answerBreaker(
  { key, value: read }: BreakerDocument,
  { isPlaced, sentAt }: { isPlaced: boolean; sentAt: number },
  deps: BreakerDeps,
): Promise<void> {
  if (!isPlaced && !causes[read.cause].isEndedByAnswer) return;
  const changed = await changeBreaker(
    key,
    (value) => {
      if (value === undefined || sentAt < value.openedAt) return undefined;
      const { isHalfOpened, intervalsMs } = causes[value.cause];
      if (!isHalfOpened || !isPlaced || value.state === "closed") return null;
      const room = value.state === "half_open" ? value.room + 1 : 1;
      const [intervalMs = 0] = intervalsMs; // a success resets the interval
      return room > roomMax ? null : { ...value, state: "half_open", room, intervalMs };
    },
    deps,
  );
  if (changed === undefined) return;
  deps.memory.documents.changed += 1;
  if (changed.after === null && changed.before?.state !== "closed") {
    deps.log("info", "breaker.closed", { breaker: key });
  }
}

/**
 * The probe of a call's open breakers. At the end of its scope it is released for another call, unless `spend` was
 * called.
 */
export interface Probe extends AsyncDisposable {
  /**
   * Takes the probe of every open breaker, by writes that only one caller can win. A second call does nothing.
   *
   * @returns false if another call has one of the probes, or if its time has not come
   */
  take(breakers: readonly BreakerDocument[]): Promise<boolean>;
  /** Prevents the release of the probe, because a request was sent under it. */
  spend(): void;
}

/** @param of the call's backlog; undefined for a receiver's probe */
export function createProbe(
  of: ClientAgent | undefined,
  { documents, clock, random }: Pick<DialerDeps, "documents" | "clock" | "random">,
): Probe {
  let taken: { before: BreakerDocument; version: string }[] = [];
  const free = async () => {
    const changes = taken.map(({ before, version }) => ({
      next: { ...before, version: random.version() },
      seen: version,
    }));
    taken = [];
    if (changes.length > 0) await documents.write(changes);
  };
  return {
    async take(breakers) {
      if (taken.length > 0) return true;
      for (const before of breakers) {
        const now = clock.now();
        const isDue = before.value.probeAt <= now;
        const mayGo = isDue || (of !== undefined && mayProbe(before, of, now));
        const version = random.version();
        const value = probed(before, of, now);
        const next = { ...before, version, value, expiresAt: now + breakerLifeMs };
        const [isTaken] = mayGo ? await documents.write([{ next, seen: before.version }]) : [false];
        if (isTaken !== true) {
          await free();
          return false;
        }
        taken.push({ before, version });
      }
      return true;
    },
    spend: () => void (taken = []),
    [Symbol.asyncDispose]: () => free().catch(() => undefined), // if this fails, the next probe only comes later
  };
}

/** Returns a breaker's value once a probe of it is under way. */
function probed({ key, value }: BreakerDocument, of: ClientAgent | undefined, now: number) {
  const { cause, intervalMs, blamed, probeAt } = value;
  const isAccount = key.startsWith("account:") && of !== undefined;
  const name = isAccount ? shortNameOf(backlogOf(of)) : "";
  return {
    ...value,
    ...(probeAt <= now
      ? { probeAt: now + intervalMs, intervalMs: nextIntervalMs(cause, intervalMs) }
      : {}),
    blamed: isAccount && !blamed.includes(name) ? [...blamed, name] : blamed,
  };
}
