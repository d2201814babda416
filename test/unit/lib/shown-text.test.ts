import { glob, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { showControls } from "../../../functions/console/shown-children.ts";
import { complain, print } from "../../../infra/cli/print.ts";
import { textOf } from "../../../infra/cli/calls/json.ts";
import { shownText } from "../../../shared/lib/shown-text.ts";

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

/** Files that print nothing of others: usage, secrets and tokens of their own. */
const own = new Set(
  ["help", "packages", "print", "secrets", "token"].map((name) => `infra/cli/${name}.ts`),
);

it("has no other way to a terminal, nor to the page as markup", async () => {
  const found: string[] = [];
  for await (const file of glob("{infra/cli,functions/console,infra/mcp}/**/*.{ts,tsx}", {
    cwd: root,
  })) {
    if (/node_modules|cli\/deploy\//.test(file) || own.has(file)) continue;
    const text = await readFile(join(root, file), "utf8");
    const isMcpStart = file === "infra/mcp/serve.ts";
    const pattern = isMcpStart
      ? /console\.log/
      : /console\.(?:log|error|warn)|(?:inner|outer)HTML|insertAdjacentHTML|document\.write/i;
    const lines = text.split("\n").filter((line) => pattern.test(line));
    if (lines.length > 0 && file !== "infra/cli/audit.ts") found.push(`${file}: ${lines.join("")}`);
  }
  expect(found).toEqual([]);
});
