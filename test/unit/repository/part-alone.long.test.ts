import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import parts from "#config/parts.json" with { type: "json" };
import { hangMs } from "#config/vitest.shared.ts";
import { filesImportedBy, specifiersIn, targetOf } from "#test/support/imports.ts";

const root = resolve(import.meta.dirname, "../../..");
type PartName = keyof typeof parts;
const run = promisify(execFile);
/** Packages that types need besides those of a part. */
const typing = ["typescript", "@types/node", "@types/aws-lambda", "@cloudflare/workers-types"];

/** Returns a part with everything that it reaches. */
function reached(name: PartName): PartName[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parts.test.ts compares them with the parts
  const imports = parts[name].imports as PartName[];
  return [...new Set([name, ...imports.flatMap(reached)])];
}

/** Returns the files of some parts: of two parts that hold a file, the deeper path has it. */
function filesOf(names: readonly PartName[]): string[] {
  const all = Object.entries(parts).flatMap(([name, { files }]) =>
    files.map((path) => ({ path, isIn: names.some((one) => one === name) })),
  );
  const files = globSync("{shared,functions,infra}/**/*.{ts,tsx,json}", {
    cwd: root,
    exclude: (path) => /node_modules|\/dist$|client-python/.test(path),
  });
  return files.filter((file) => {
    const over = all.filter(({ path }) => file === path || file.startsWith(`${path}/`));
    return over.toSorted((one, other) => other.path.length - one.path.length)[0]?.isIn ?? false;
  });
}

/** Returns a file with everything that it imports. */
function withImports(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  if (file.endsWith(".ts")) for (const one of filesImportedBy(file)) withImports(one, found);
  return found;
}

/**
 * Returns the quick unit tests that need no file beside these, each with the files of `test` that it imports. Tests that read
 * files by their paths are left out, as those may be of any part.
 */
function testsOf(files: readonly string[]): Map<string, string[]> {
  const own = new Set(files);
  const isNear = (file: string) => own.has(file) || file.startsWith("test/");
  const tests = globSync("test/unit/*/*.test.ts", { cwd: root }).filter(
    (test) => !/\.(?:slow|long)\./.test(test),
  );
  return new Map(
    tests.flatMap((test) => {
      const needed = [...withImports(test)];
      const ofTests = needed.filter((file) => file.startsWith("test/"));
      const isAlone = needed.every(isNear) && ofTests.length < needed.length;
      const readsFiles = () => ofTests.some((file) => /readFile|readdir|glob/.test(textOf(file)));
      return isAlone && !readsFiles() ? [[test, ofTests]] : [];
    }),
  );
}

function textOf(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** Copies files of the repository into a folder. */
async function copy(files: Iterable<string>, folder: string): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(root, file), join(folder, file));
  }
}

/** Gives a folder some packages of the root, and no others. */
async function install(packages: Iterable<string>, folder: string): Promise<void> {
  for (const one of packages) {
    await mkdir(dirname(join(folder, "node_modules", one)), { recursive: true });
    await symlink(join(root, "node_modules", one), join(folder, "node_modules", one));
  }
}

/** Runs unit tests in a folder, as the quick tier does. */
async function runTests(folder: string, tests: Map<string, string[]>): Promise<void> {
  const files = new Set([...tests.values()].flat());
  await copy(files, folder);
  const imported = [...files].flatMap((file) =>
    specifiersIn(textOf(file)).filter(
      (one) => targetOf(file, one) === undefined && !one.startsWith("node:"),
    ),
  );
  const names = imported.map((one) =>
    one
      .split("/")
      .slice(0, one.startsWith("@") ? 2 : 1)
      .join("/"),
  );
  const present = new Set(await readdir(join(folder, "node_modules")));
  await install(new Set(names.filter((one) => !present.has(one))), folder);
  const config = {
    isolate: false,
    include: [...tests.keys()],
    provide: { tier: "quick" },
    testTimeout: hangMs,
    hookTimeout: hangMs,
    experimental: { viteModuleRunner: false, nodeLoader: false },
  };
  const text = `export default { test: ${JSON.stringify(config)} };\n`;
  await writeFile(join(folder, "vitest.config.mjs"), text);
  const program = join(folder, "node_modules/vitest/vitest.mjs");
  await run(process.execPath, [program, "run"], { cwd: folder, maxBuffer: 2 ** 26 });
}

it.each(["core", "dialer", "API"] as const)(
  "the part %s stands alone, with its own packages",
  async (name) => {
    const folder = await mkdtemp(join(tmpdir(), "outbound-calls-part-"));
    try {
      const names = reached(name);
      const files = filesOf(names);
      const copied = [...files, "tsconfig.json", "package.json", "infra/dial-plan.json"];
      await copy(copied, folder);
      await install(new Set([...names.flatMap((one) => parts[one].packages), ...typing]), folder);
      const config = JSON.parse(await readFile(join(folder, "tsconfig.json"), "utf8"));
      const types = ["node", "@cloudflare/workers-types/experimental"];
      const own = { ...config, compilerOptions: { ...config.compilerOptions, types } };
      await writeFile(join(folder, "tsconfig.json"), JSON.stringify(own));
      await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder]);
      const modules = files.filter((file) => file.endsWith(".ts"));
      const program = modules.map((file) => `import "./${file}";`).join("\n");
      await writeFile(join(folder, "all.mjs"), program);
      await run(process.execPath, ["all.mjs"], { cwd: folder });
      expect(modules.length).toBeGreaterThan(100);
      const tests = testsOf(files);
      await runTests(folder, tests);
      expect(tests.size).toBeGreaterThanOrEqual(30);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
