/**
 * `node infra/cli/packages.ts FOLDER…`: installs the packages of folders that need more than what runs locally and on
 * Cloudflare, unless the packages of their lock file are installed already. A folder's list is in its `packages/`, which npm
 * installs there. It is then moved beside the folder's files: with a package.json of its own the folder could not import
 * `#shared/…`. The list of a published package is in the folder itself.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { printHelp } from "./help.ts";
import { complain } from "./print.ts";

printHelp(`npm run packages

Installs what only AWS deployments, the MCP server and tests need, if it is missing or of another version. Other commands do it by themselves.`);

const root = resolve(import.meta.dirname, "../..");

/** Time limit of one installation. */
const installMsMax = 20 * 60_000;

const codes = await Promise.all(process.argv.slice(2).map(install));
process.exitCode = codes.find((code) => code !== 0) ?? 0;

/** Installs the packages of a folder where they are missing or others. Returns npm's exit code. */
async function install(name: string): Promise<number> {
  const folder = join(root, name);
  const listed = existsSync(join(folder, "package.json")) ? folder : join(folder, "packages");
  const lock = readFileSync(join(listed, "package-lock.json"));
  const hash = createHash("sha256").update(lock).digest("hex");
  const installed = join(folder, "node_modules");
  const mark = join(installed, ".installed-lock");
  if (hash === markOf(mark)) return 0;
  complain(`Installing the packages of ${name} …`);
  const npm = spawn("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: listed,
    stdio: ["ignore", 2, 2],
    timeout: installMsMax,
  });
  await once(npm, "close");
  if (npm.exitCode !== 0) return npm.exitCode ?? 1;
  if (listed !== folder) {
    rmSync(installed, { recursive: true, force: true });
    renameSync(join(listed, "node_modules"), installed);
  }
  writeFileSync(mark, hash);
  return 0;
}

function markOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
