import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import layers from "#config/layers.json" with { type: "json" };
import { filesImportedBy, specifiersIn, targetOf } from "#test/support/imports.ts";

const root = resolve(import.meta.dirname, "../../..");
const rooms = Object.entries<(string | string[])[]>(layers);

/** Finds the room of a file, and its place in the order of that room's folders; 0 is the lowest. */
function placeOf(file: string): { room: string; folder: string; rank: number } | undefined {
  const [room, order] = rooms.find(([name]) => file.startsWith(`${name}/`)) ?? [];
  if (room === undefined || order === undefined) return undefined;
  const [first = "", ...others] = file.slice(room.length + 1).split("/");
  const folder = others.length === 0 ? "." : first;
  return { room, folder, rank: order.findIndex((one) => [one].flat().includes(folder)) };
}

/** Files of another room that a room may import. */
const allowed: Record<string, RegExp> = {
  // Generated types alone, which import nothing.
  shared: /^infra\/client\/generated\//,
  // The wing's creation alone: an entry hands it in.
  "functions/api": /^(?:shared\/|functions\/operator\/operator\.ts$)/,
  "functions/operator": /^(?:shared|functions\/api\/(?:http|actions|calls|requests))\//,
  "functions/dialer": /^shared\//,
  // Types of the API's answers, leads, texts, and tables. The page's generator finds whatever needs Node.
  "functions/console":
    /^(shared\/(?:answers|calls|leads)\/|shared\/lib\/(?:csv|problem|shell-word|shown-text)\.ts$|shared\/rules\/texts\.ts$|shared\/telephony\/(?:time-zone|renumbered)\.ts$)/,
};

it("imports from its own folder or a lower one, as .config/layers.json orders them", async () => {
  const wrong: string[] = [];
  const imports = new Set<string>();
  for await (const path of glob("{shared,functions}/**/*.{ts,tsx}", { cwd: root })) {
    const from = placeOf(path);
    if (from === undefined || from.rank < 0) {
      wrong.push(`${path} is in no layer`);
      continue;
    }
    for (const target of filesImportedBy(path)) {
      const to = placeOf(target);
      if (to?.folder === "generated" || target.startsWith("infra/dial-plan.json")) continue;
      imports.add(target);
      const isOwn = to?.room === from.room;
      const isDown = isOwn && (to.folder === from.folder || (to.rank >= 0 && to.rank < from.rank));
      const isRight = isOwn ? isDown : allowed[from.room]?.test(target);
      if (isRight !== true) wrong.push(`${path} imports ${target}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(imports.size).toBeGreaterThan(150);
});

/** Returns the files that run when a file is imported. Types are not among them. */
function listImported(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(join(root, file), "utf8").replaceAll(/import type [^;]*;/g, "");
  for (const specifier of specifiersIn(text)) {
    const target = targetOf(file, specifier);
    if (target?.endsWith(".ts") === true) listImported(target, found);
  }
  return found;
}

/**
 * Maximum files, beside those of shared/rules, with which somebody must reckon who changes one of these. With the rules, the
 * lists of gates import 51 files and the decision 52: each rule adds its own.
 */
const importedMax = {
  "shared/rules/gates.ts": 26,
  "functions/dialer/decide/decide-delivered.ts": 27,
  "functions/api/calls/create-calls.ts": 43,
};

it.each(Object.entries(importedMax))("imports no provider into %s, nor much else", (file, max) => {
  const imported = [...listImported(file)];
  expect(imported.filter((one) => one.startsWith("shared/providers/"))).toEqual([]);
  const others = imported.filter((one) => !one.startsWith("shared/rules/"));
  expect(others.length).toBeLessThanOrEqual(max);
});

it("knows the API by its documents outside of its folders: only generators import its modules", async () => {
  const importing: string[] = [];
  for await (const path of glob("{shared,functions,infra}/**/*.{ts,tsx}", { cwd: root })) {
    if (/^functions\/(?:api|operator)\/|node_modules/.test(path)) continue;
    const isApi = (target: string) => /^functions\/(?:api|operator)\//.test(target);
    if (filesImportedBy(path).some(isApi)) importing.push(path);
  }
  expect(importing.filter((path) => !path.startsWith("infra/generate/"))).toEqual([]);
  expect(importing).not.toEqual([]);
});
