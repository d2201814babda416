import { describe, expect, it } from "vitest";
import { breakCore, listGone } from "./break-core.ts";
import {
  always,
  argument,
  becomes,
  callBecomes,
  calls,
  exchange,
  ignore,
  leaveOut,
  never,
  returns,
  type Edit,
  without,
} from "./edits.ts";
import { toSource } from "./tree.ts";

const core = [
  toSource(
    "shared/calls/claim.ts",
    `export const ageMsMax = 10_000;
export async function claim(row: Row, { port, log }: Deps) {
  const isDue = row.dueAt <= now();
  if (row.isTaken || row.isOver) return undefined;
  await port.note(row).catch(() => undefined);
  const next = { ...row, claims: [...row.claims, version], seen };
  if (!(await port.write(next, 1))) return undefined;
  log("claimed");
  return isDue ? next : (fallback(row) ?? next);
}
export const now = () => Date.now();
`,
  ),
  toSource("shared/lib/clock.ts", "export function now() {\n  return 0;\n}\n"),
];

/** Breaks the code at a place, and returns the lines that have changed. */
function linesOf(path: string, edit: Edit): string[] {
  const [changed] = breakCore(core, { edits: [[path, edit]] });
  const before = new Set(core.flatMap(({ text }) => text.split("\n")));
  return (changed?.text ?? "")
    .split("\n")
    .filter((line) => !before.has(line))
    .map((line) => line.trim());
}

describe("an edit", () => {
  it.each<[name: string, path: string, edit: Edit, line: string]>([
    [
      "gives a constant another value",
      "ageMsMax",
      becomes("20_000"),
      "export const ageMsMax = 20_000;",
    ],
    ["gives a variable another value", "claim.isDue", becomes("true"), "const isDue = true;"],
    [
      "gives a property another value",
      "claim.claims",
      becomes("[version]"),
      "const next = { ...row, claims: [version], seen };",
    ],
    [
      "gives a short property a value",
      "claim.next.seen",
      becomes("null"),
      "const next = { ...row, claims: [...row.claims, version], seen: null };",
    ],
    ["leaves out a property", "claim.claims", leaveOut(), "const next = { ...row,  seen };"],
    [
      "leaves out an entry of a list",
      "claim",
      without("version"),
      "const next = { ...row, claims: [...row.claims, ], seen };",
    ],
    ["leaves out a statement", "claim", leaveOut("log"), ";"],
    ["leaves out a statement with what follows its call", "claim", leaveOut("port.note"), ";"],
    [
      "leaves out a call within an expression",
      "claim",
      leaveOut("fallback"),
      "return isDue ? next : (undefined ?? next);",
    ],
    [
      "puts a value in the place of a call",
      "claim",
      callBecomes("write", "true"),
      "if (!(await true)) return undefined;",
    ],
    [
      "changes an argument",
      "claim",
      argument("port.write", 1, "2"),
      "if (!(await port.write(next, 2))) return undefined;",
    ],
    ["calls another function", "claim", calls("log", "port.note"), 'port.note("claimed");'],
    ["returns at once", "clock:now", returns("1"), "export function now() { return 1; }"],
    [
      "returns at once from an expression",
      "claim:now",
      returns("1"),
      "export const now = () => (1);",
    ],
    ["has a condition never hold", "claim", never("isTaken"), "if (false) return undefined;"],
    [
      "has a condition always hold",
      "claim",
      always("isDue"),
      "return true ? next : (fallback(row) ?? next);",
    ],
    ["leaves out an operand", "claim", ignore("isTaken"), "if (row.isOver) return undefined;"],
  ])("%s", (_, path, edit, line) => {
    expect(linesOf(path, edit)).toEqual([line]);
  });

  it("exchanges two steps", () => {
    const [changed] = breakCore(core, { edits: [["claim", exchange("port.note", "log")]] });
    const { text = "" } = changed ?? {};
    expect(text.indexOf('log("claimed")')).toBeLessThan(text.indexOf("port.write"));
    expect(text.indexOf("port.note")).toBeGreaterThan(text.indexOf("port.write"));
  });
});

describe("the check of all names", () => {
  it.each<[name: string, path: string, edit: Edit, told: RegExp]>([
    ["a function that is gone", "claimed", returns("1"), /nowhere in the core: claimed/],
    ["a name that two files have", "now", returns("1"), /2 times in the core: now/],
    ["a call that is gone", "claim", leaveOut("read"), /0 times in claim .*: call of read/],
    ["a condition that is gone", "claim", never("read"), /0 times in claim .*: condition of read/],
    ["a new text with a stale name", "claim.isDue", becomes("row.dueAt <= at"), /knows no at/],
  ])("reports %s", (_, path, edit, told) => {
    const gone = listGone(core, [{ breaks: "a rule", edits: [[path, edit]], tests: [] }]);
    expect(gone).toEqual([expect.stringMatching(told)]);
  });
});
