import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import parts from "#config/parts.json" with { type: "json" };

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

it.each(["core", "dialer", "API"] as const)(
  "has the types of the part %s checked, and its modules run, with its own packages alone",
  async (name) => {
    const folder = await mkdtemp(join(tmpdir(), "outbound-calls-part-"));
    try {
      const names = reached(name);
      const files = filesOf(names);
      const copied = [...files, "tsconfig.json", "package.json", "infra/dial-plan.json"];
      for (const file of copied) {
        await mkdir(dirname(join(folder, file)), { recursive: true });
        await cp(join(root, file), join(folder, file));
      }
      const packages = [...new Set([...names.flatMap((one) => parts[one].packages), ...typing])];
      for (const one of packages) {
        await mkdir(dirname(join(folder, "node_modules", one)), { recursive: true });
        await symlink(join(root, "node_modules", one), join(folder, "node_modules", one));
      }
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
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
