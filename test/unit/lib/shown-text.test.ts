import { glob, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { showControls } from "#functions/console/app/shown-children.ts";
import { complain, complainOf, print, showLines } from "#infra/cli/print.ts";
import { textOf } from "#infra/cli/calls/json.ts";
import { shownText } from "#shared/lib/shown-text.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const root = resolve(import.meta.dirname, "../../..");

describe("a text for people", () => {
  it.each([
    ["plain, Zoë, 日本, +1 202\n\tmore\r\n", "plain, Zoë, 日本, +1 202\n\tmore\r\n"],
    ["\u001b[2Jgone", String.raw`\u001b[2Jgone`],
    ["over\rwritten", String.raw`over\u000dwritten`],
    ["\u009b31mred\u007f\u0000\u0008", String.raw`\u009b31mred\u007f\u0000\u0008`],
    ["\u202egpj.exe\u2066x\u2069\u200f", String.raw`\u202egpj.exe\u2066x\u2069\u200f`],
  ])("shows the controls of %j", (text, shown) => expect(shownText(text)).toBe(shown));

  it("stays the same JSON", () => {
    const value = { name: "a\u009b\u202e\u001b[31m" };
    expect(JSON.parse(shownText(JSON.stringify(value)))).toEqual(value);
  });

  it("is one line in a cell of a table", () => {
    expect(textOf("one\ntwo\u001b")).toBe(String.raw`one\ntwo\u001b`);
  });

  it("is printed to a terminal and shown on the page in this way", () => {
    const [log, error] = [vi.spyOn(console, "log"), vi.spyOn(console, "error")];
    for (const spy of [log, error]) spy.mockImplementation(() => undefined);
    print("\u001b[2J");
    complain("\u009b2J");
    expect(log.mock.calls).toEqual([[String.raw`\u001b[2J`]]);
    expect(error.mock.calls).toEqual([[String.raw`\u009b2J`]]);
    complainOf(new Error("no \u001b[2J"), true);
    complainOf({ name: "\u202egpj" }, false);
    const complained = error.mock.calls.slice(1).flat().join();
    expect(complained).toContain(String.raw`no \u001b[2J`);
    for (const control of ["\u001b", "\u202e"]) expect(complained).not.toContain(control);
    vi.restoreAllMocks();
    const hooks: { vnode?: (made: object) => void } = {};
    showControls(hooks);
    const inner = { type: "b", props: { children: "x" } };
    const node = { type: "td", props: { children: ["\u202ename", ["\u2066", inner], 12] } };
    hooks.vnode?.(node);
    expect(JSON.stringify(node.props)).toContain(String.raw`\\u202ename`);
    expect(JSON.stringify(node.props)).toContain(String.raw`\\u2066`);
  });
});

it("shows the lines of another command, however its output is cut", async () => {
  const output = new PassThrough();
  const shown: string[] = [];
  showLines(output, (line) => shown.push(shownText(line)));
  const bytes = Buffer.from("Zoë\r\none\u001b[2J\nlast");
  for (const byte of bytes) output.write(Buffer.from([byte]));
  output.end();
  await expect.poll(() => shown).toEqual(["Zoë", String.raw`one\u001b[2J`, "last"]);
});

/** Files that write to a terminal by themselves: usage, an unechoed question whose text is shown, and what becomes the console. */
const own = new Set([
  "infra/cli/help.ts",
  "infra/cli/print.ts",
  "infra/cli/calls/process-terminal.ts",
  "infra/cli/deploy/tools.ts",
  "infra/local/lambda-bootstrap.ts",
  "infra/local/queue-pump.ts", // a Worker, whose console start.ts prints
]);

it("has no other way to a terminal, nor to the page as markup", inSlowTier, async () => {
  const found: string[] = [];
  for await (const file of glob(
    "{infra/cli,infra/local,functions/console,infra/mcp}/**/*.{ts,tsx}",
    {
      cwd: root,
    },
  )) {
    if (file.includes("node_modules") || own.has(file)) continue;
    const text = await readFile(join(root, file), "utf8");
    const isMcpStart = file === "infra/mcp/serve.ts";
    const pattern = isMcpStart
      ? /console\.log/
      : /console\.(?:log|error|warn)|std(?:out|err)\.write|(?:inner|outer)HTML|insertAdjacentHTML|document\.write/i;
    const lines = text.split("\n").filter((line) => pattern.test(line));
    if (lines.length > 0) found.push(`${file}: ${lines.join("")}`);
  }
  expect(found).toEqual([]);
});
