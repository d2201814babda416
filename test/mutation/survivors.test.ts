import { expect, it } from "vitest";
import { listMutants, listScores, type Report } from "./survivors.ts";

/** A report about a function, after `before` and with one mutant of its condition. */
function reportOf(before: string, status: string): Report {
  const source = `${before}export function isDue(at: number) {\n  const check = () => at <= now;\n  return check();\n}\n`;
  const lines = source.split("\n");
  const line = lines.findIndex((one) => one.includes("at <= now"));
  const column = (lines[line] ?? "").indexOf("at <= now") + 1;
  const location = {
    start: { line: line + 1, column },
    end: { line: line + 1, column: column + 9 },
  };
  const mutant = { mutatorName: "EqualityOperator", replacement: "at < now", status, location };
  return { files: { "shared/calls/due.ts": { source, mutants: [mutant] } } };
}

const named = {
  in: "due:isDue.check",
  mutator: "EqualityOperator",
  from: "at <= now",
  to: "at < now",
};

it("names a survivor by its function, wherever that stands", () => {
  expect(listMutants(reportOf("", "Survived"))).toEqual([named]);
  expect(listMutants(reportOf("const before = 1;\n\n", "Survived"))).toEqual([named]);
});

it("counts a mutant that no test reaches as a survivor, and a killed one as none", () => {
  expect(listMutants(reportOf("", "NoCoverage"))).toEqual([named]);
  expect(listMutants(reportOf("", "Killed"))).toEqual([]);
});

it("counts how the mutants of a file ended", () => {
  const file = "shared/calls/due.ts";
  expect(listScores(reportOf("", "Timeout"))).toEqual([
    { file, killed: 0, timedOut: 1, survived: 0 },
  ]);
});
