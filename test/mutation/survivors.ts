import { listBelow, nameOf, pathTo, toSource, type Node, type Source } from "./tree.ts";

/** The part of the mutation tester's report that is read. */
export interface Report {
  files: Record<string, { source: string; mutants: ReportedMutant[] }>;
}

interface ReportedMutant {
  mutatorName: string;
  replacement?: string;
  status: string;
  /** Lines and columns count from 1. */
  location: { start: Position; end: Position };
}

interface Position {
  line: number;
  column: number;
}

/** A mutant of the tester by its place. It has no line, so that moved code changes no list. */
export interface Survivor {
  /** The file's name without folder and ending, and the function, such as `check:judgeClock`. */
  in: string;
  mutator: string;
  /** The code and what it became, each shortened. */
  from: string;
  to: string;
}

/** Counts of a file's mutants by their end. */
export interface Score {
  file: string;
  killed: number;
  timedOut: number;
  survived: number;
}

export const nameSurvivor = (one: Survivor) =>
  JSON.stringify([one.in, one.mutator, one.from, one.to]);

/** Statuses of mutants that no test has noticed. */
const unnoticed = new Set(["Survived", "NoCoverage"]);

/** Lists the mutants with some statuses, each place and change once. */
export function listMutants(report: Report, statuses: ReadonlySet<string> = unnoticed): Survivor[] {
  const all = Object.entries(report.files).flatMap(([file, { source, mutants }]) => {
    const parsed = toSource(file, source);
    return mutants
      .filter(({ status }) => statuses.has(status))
      .map((one) => toSurvivor(parsed, one));
  });
  return [...new Map(all.map((one) => [nameSurvivor(one), one])).values()];
}

export function listScores(report: Report): Score[] {
  return Object.entries(report.files).map(([file, { mutants }]) => {
    const count = (...statuses: string[]) =>
      mutants.filter(({ status }) => statuses.includes(status)).length;
    return {
      file,
      killed: count("Killed"),
      timedOut: count("Timeout"),
      survived: count(...unnoticed),
    };
  });
}

/** Names a mutant by its place. */
export function toSurvivor(
  source: Source,
  { mutatorName, replacement = "", location }: ReportedMutant,
): Survivor {
  const start = offsetOf(source.text, location.start);
  const end = offsetOf(source.text, location.end);
  const name = (source.file.split("/").at(-1) ?? "").replace(/\.ts$/, "");
  return {
    in: `${name}:${functionAt(source.program, start, end)}`,
    mutator: mutatorName,
    from: shorten(source.text.slice(start, end)),
    to: shorten(replacement),
  };
}

/** Returns the offset of a line and column, which count from 1. */
export function offsetOf(text: string, { line, column }: Position): number {
  const before = text.split("\n").slice(0, line - 1);
  return before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
}

/** Returns the names of the functions around a piece of code, joined by points. */
function functionAt(program: Node, start: number, end: number): string {
  const innermost = listBelow(program).findLast((node) => node.start <= start && node.end >= end);
  const around = innermost === undefined ? [] : pathTo(innermost, program);
  const named = around.filter((node) => nameOf(node) !== undefined && hasFunction(node));
  return named.map(nameOf).join(".");
}

/** True for a function that is declared, or is the value of a variable or property. */
function hasFunction(node: Node): boolean {
  if (/^(FunctionDeclaration|ObjectMethod|ClassMethod)$/.test(node.type)) return true;
  const value: unknown = Reflect.get(node, "init") ?? Reflect.get(node, "value");
  return /Function/.test(String(Reflect.get(Object(value), "type")));
}

const textMax = 100;

function shorten(text: string): string {
  const plain = text.replaceAll(/\s+/g, " ");
  return plain.length <= textMax ? plain : `${plain.slice(0, textMax)}…`;
}
