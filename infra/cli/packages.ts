/**
 * `node infra/cli/packages.ts FOLDER…`: installs the packages of folders with a package.json of their own, which what runs
 * locally and on Cloudflare does not need, unless the packages of their lock file are installed already.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { printHelp } from "./help.ts";
import { complain } from "./print.ts";

printHelp(`npm run packages

Installs what only AWS deployments, the MCP server and tests need, where it is missing or another version. Other commands do it by themselves.`);

const root = resolve(import.meta.dirname, "../..");

for (const folder of process.argv.slice(2)) {
  const lock = readFileSync(join(root, folder, "package-lock.json"));
  const hash = createHash("sha256").update(lock).digest("hex");
  const mark = join(root, folder, "node_modules/.installed-lock");
  if (hash === markOf(mark)) continue;
  complain(`Installing the packages of ${folder} …`);
  const args = ["ci", "--no-audit", "--no-fund"];
  const { status } = spawnSync("npm", args, {
    cwd: join(root, folder),
    stdio: ["ignore", 2, 2],
    timeout: 20 * 60_000,
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(mark, hash);
}

function markOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
