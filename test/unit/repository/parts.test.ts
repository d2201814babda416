import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import parts from "../../../.config/parts.json" with { type: "json" };

const root = resolve(import.meta.dirname, "../../..");
type PartName = keyof typeof parts;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a JSON file
const names = Object.keys(parts) as PartName[];

/** Returns the part of a file: the one that names it, or the nearest folder above it. */
function partOf(file: string): PartName | undefined {
  const named = names.flatMap((name) => parts[name].files.map((path) => ({ name, path })));
  const over = named.filter(({ path }) => file === path || file.startsWith(`${path}/`));
  return over.toSorted((one, other) => other.path.length - one.path.length)[0]?.name;
}

/** A file's imports of other parts and of packages. */
interface Imported {
  parts: PartName[];
  packages: string[];
}

function readImports(file: string): Imported {
  const found: Imported = { parts: [], packages: [] };
  const text = readFileSync(join(root, file), "utf8");
  const pattern =
    /^(?:import|export) (?:[^;"]*? from )?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|typeof import\("([^"]+)"\)/gm;
  for (const [, one, two, three] of text.matchAll(pattern)) {
    const named = one ?? two ?? three ?? "";
    if (named.startsWith(".")) {
      const part = partOf(relative(root, join(root, dirname(file), named)));
      if (part !== undefined) found.parts.push(part);
    } else if (!named.startsWith("node:")) {
      const [scope = "", name = ""] = named.split("/");
      found.packages.push(scope.startsWith("@") ? `${scope}/${name}` : scope);
    }
  }
  return found;
}

const exclude = (path: string) => /node_modules|\/dist$|infra\/client-python/.test(path);
const files = globSync("{shared,functions,infra}/**/*.{ts,tsx}", { cwd: root, exclude });

const sorted = (all: Iterable<string>) => [...new Set(all)].toSorted();

describe("the parts of .config/parts.json", () => {
  it("have every file of the code", () => {
    expect(files.filter((file) => partOf(file) === undefined)).toEqual([]);
    expect(files.length).toBeGreaterThan(500);
  });

  it.each(names)("declare exactly the parts and packages that they import: %s", (name) => {
    const imported = files.filter((file) => partOf(file) === name).map(readImports);
    const others = imported.flatMap((one) => one.parts).filter((other) => other !== name);
    expect(sorted(others)).toEqual(sorted(parts[name].imports));
    expect(sorted(imported.flatMap((one) => one.packages))).toEqual(sorted(parts[name].packages));
  });

  it("never import each other in a circle", () => {
    const circle = (name: PartName, path: readonly PartName[]): PartName[][] =>
      path.includes(name)
        ? [[...path, name]]
        : importsOf(name).flatMap((one) => circle(one, [...path, name]));
    expect(names.flatMap((name) => circle(name, []))).toEqual([]);
  });

  it("are pictured in architecture.md, with each edge that no longer way implies", () => {
    const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
    const [, drawn = ""] = /<!-- parts -->\s*```mermaid\nflowchart LR\n(.*?)```/s.exec(page) ?? [];
    expect(drawn).toBe(drawParts());
  });
});

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test above compares them with the parts
const importsOf = (name: PartName) => parts[name].imports as PartName[];

/** Lists everything that a part reaches through those that it imports. */
function reached(name: PartName): PartName[] {
  return importsOf(name).flatMap((one) => [one, ...reached(one)]);
}

/** Draws the parts in Mermaid: a line a part, with what it imports and does not reach through another one. */
function drawParts(): string {
  const idOf = (name: string) => name.replaceAll(/\W/g, "-");
  const lines = names.flatMap((name) => {
    const direct = importsOf(name).filter(
      (one) => !importsOf(name).some((other) => other !== one && reached(other).includes(one)),
    );
    return direct.length === 0 ? [] : `  ${idOf(name)} --> ${direct.map(idOf).join(" & ")}\n`;
  });
  return lines.join("");
}
