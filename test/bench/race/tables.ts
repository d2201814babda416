/** The race's tables: medians over runs, and ranges. */
import { summary } from "../measure.ts";
import { table } from "../report.ts";
import type { Figures, Percentiles } from "./figures.ts";

/** The results of one run, by engine, in racing order. */
export type Run = Figures[];

/** Formats numbers as their median, and their range where they differ. */
function told(numbers: readonly number[], digits = 0): string {
  const { median, low, high } = summary(numbers);
  const [middle, least, most] = [median, low, high].map((one) => thousands(one.toFixed(digits)));
  return least === most ? `${middle}` : `${middle} (${least}–${most})`;
}

const thousands = (digits: string) => digits.replaceAll(/\B(?=(\d{3})+(?!\d|\.))/g, ",");

/** Formats each percentile's median, and the range of the last one. */
function toldPercentiles(all: readonly Percentiles[]): string[] {
  return (["p50", "p95", "p99"] as const).map((name) => told(all.map((one) => one[name])));
}

/** Groups the runs' figures by engine. */
export function byEngine(runs: readonly Run[]): [engine: string, figures: Figures[]][] {
  return [...Map.groupBy(runs.flat(), ({ engine }) => engine)];
}

/** Sorts an engine's fates: the worst first. */
export function fatesTable(runs: readonly Run[]): string {
  const rows = byEngine(runs).map(([engine, all]) => [
    engine,
    told(all.map(({ twice }) => twice)),
    told(all.map(({ twiceByKills }) => twiceByKills)),
    told(all.map(({ lost }) => lost)),
    told(all.map(({ left }) => left)),
    told(all.map(({ waiting }) => waiting)),
    told(all.map(({ kills }) => kills)),
  ]);
  const head = ["", "phoned twice", "of them by a kill", "lost", "left for a person"];
  return table([...head, "still waiting", "kills"], rows);
}

export function timesTable(runs: readonly Run[]): string {
  const rows = byEngine(runs).map(([engine, all]) => [
    engine,
    ...toldPercentiles(all.map(({ acceptMs }) => acceptMs)),
    ...toldPercentiles(all.map(({ dialMs }) => dialMs)),
    told(
      all.map(({ callsPerSecond }) => callsPerSecond, 1),
      1,
    ),
    told(all.map(({ recoverySeconds }) => recoverySeconds)),
  ]);
  const head = ["", "accept p50, ms", "p95", "p99", "accept to dial p50, ms", "p95", "p99"];
  return table([...head, "calls a second", "seconds to recover"], rows);
}

export function costsTable(runs: readonly Run[]): string {
  const rows = byEngine(runs).map(([engine, all]) => [
    engine,
    told(
      all.map(({ cpuMsPerCall }) => cpuMsPerCall.engine),
      1,
    ),
    told(
      all.map(({ cpuMsPerCall }) => cpuMsPerCall.database),
      1,
    ),
    told(all.map(({ memoryMegabytes }) => memoryMegabytes)),
    told(all.map(({ codeLines }) => codeLines)),
  ]);
  return table(["", "CPU ms a call", "and its server", "memory, MB", "lines of code"], rows);
}

/** The README's table: both of our shapes in one row, by the worse of the two. */
export function shortTable(runs: readonly Run[]): string {
  const ours = (engine: string) => engine.startsWith("ours");
  const worse = (all: readonly Figures[], of: (one: Figures) => number) =>
    Math.max(0, ...all.filter(({ engine }) => ours(engine)).map(of));
  const rivals = byEngine(runs).filter(([engine]) => !ours(engine));
  const ofOurs = (of: (one: Figures) => number) => told(runs.map((run) => worse(run, of)));
  return table(
    ["2,000 calls", "phoned twice", "lost", "left for a person"],
    [
      [
        "Outbound Calls",
        ofOurs(({ twice }) => twice),
        ofOurs(({ lost }) => lost),
        ofOurs(({ left }) => left),
      ],
      ...rivals.map(([engine, all]) => [
        engine,
        told(all.map(({ twice }) => twice)),
        told(all.map(({ lost }) => lost)),
        told(all.map(({ left }) => left)),
      ]),
    ],
  );
}
