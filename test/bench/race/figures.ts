/** Figures of an engine, computed from a race's observations. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "./engine.ts";
import type { Observed } from "./race.ts";

/** Milliseconds that 50, 95 and 99 of 100 stayed below. */
export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

export interface Figures {
  engine: string;
  accepted: number;
  /** Posts that were not answered with a success. */
  refused: number;
  /** People whom the provider phoned more than once. */
  twice: number;
  /** People phoned more than once, the first time before the provider hung: a kill alone can be the reason. */
  twiceByKills: number;
  /** People whose accepted call was never placed, is no longer open, and stands on no list for a person. */
  lost: number;
  /** Calls that the engine has left for a person: failed jobs, or NEEDS_REVIEW. */
  left: number;
  /** People who were not phoned yet, whose call is still open. */
  waiting: number;
  kills: number;
  /** From the moment at which a post was due to its answer, in milliseconds. */
  acceptMs: Percentiles;
  /** From the answer to the first phone call, in milliseconds, of calls of the phase with kills. */
  dialMs: Percentiles;
  /** People phoned a second, from the first post to the last first phone call. */
  callsPerSecond: number;
  /** Seconds from the provider's recovery until the last person was phoned who was. */
  recoverySeconds: number;
  cpuMsPerCall: { engine: number; database: number };
  memoryMegabytes: number;
  codeLines: number;
  /** People phoned for the first time, by second since the start. */
  perSecond: number[];
  /** Seconds since the start at which the hang, the outage and the good time began. */
  phases: { hang: number; busy: number; well: number };
}

function percentiles(numbers: readonly number[]): Percentiles {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Lines of the engine's user code, without blank lines and comments. */
function codeLinesOf({ code }: Engine): number {
  return code
    .map((file) => readFileSync(join(import.meta.dirname, "../engines", file), "utf8"))
    .join("\n")
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("//")).length;
}

/** Computes an engine's figures; `killSeconds` is the length of the phase with kills. */
export function figuresOf(engine: Engine, observed: Observed, killSeconds: number): Figures {
  const { posted, startedAt, hangAt, busyAt, wellAt, state, consumption } = observed;
  const times = Map.groupBy(observed.phoned, ([person]) => person);
  const firstAt = (person: string) => times.get(person)?.[0]?.[1];
  const twice = [...times].filter(([, phonedAt]) => phonedAt.length > 1);
  const accepted = posted.filter(({ id }) => id !== undefined);
  const [open, left] = [new Set(state.open), new Set(state.left)];
  const unphoned = accepted.filter(({ person }) => !times.has(person));
  const firsts = accepted.flatMap(({ person }) => firstAt(person) ?? []);
  const lastAt = firsts.reduce((last, at) => Math.max(last, at), startedAt);
  const perSecond = Array.from({ length: Math.ceil((lastAt + 1 - startedAt) / 1000) }, () => 0);
  for (const at of firsts) {
    const second = Math.max(0, Math.floor((at - startedAt) / 1000));
    perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  const secondsTo = (at: number) => (at - startedAt) / 1000;
  const msPerCall = (seconds: number) => (seconds * 1000) / accepted.length;
  return {
    engine: engine.name,
    accepted: accepted.length,
    refused: posted.length - accepted.length,
    twice: twice.length,
    twiceByKills: twice.filter(([person]) => (firstAt(person) ?? 0) < hangAt).length,
    lost: unphoned.filter(({ id = "" }) => !open.has(id) && !left.has(id)).length,
    left: state.left.length,
    waiting: unphoned.filter(({ id = "" }) => open.has(id)).length,
    kills: observed.killsAt.length,
    acceptMs: percentiles(accepted.map(({ dueAt, acceptedAt = 0 }) => acceptedAt - dueAt)),
    dialMs: percentiles(
      accepted
        .filter(({ dueAt }) => dueAt < startedAt + killSeconds * 1000)
        .flatMap(({ person, acceptedAt = 0 }) => {
          const at = firstAt(person);
          return at === undefined ? [] : [Math.max(0, at - acceptedAt)];
        }),
    ),
    callsPerSecond: firsts.length / Math.max(1, secondsTo(lastAt)),
    recoverySeconds: Math.max(0, (lastAt - wellAt) / 1000),
    cpuMsPerCall: {
      engine: msPerCall(consumption.cpuSeconds.engine),
      database: msPerCall(consumption.cpuSeconds.database),
    },
    memoryMegabytes: consumption.memoryBytesMax / 1_000_000,
    codeLines: codeLinesOf(engine),
    perSecond,
    phases: { hang: secondsTo(hangAt), busy: secondsTo(busyAt), well: secondsTo(wellAt) },
  };
}
