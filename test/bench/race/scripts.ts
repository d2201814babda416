import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Runs a file of `engines/` and parses what it prints. */
export async function runScript<Value>(
  file: string,
  environment: Record<string, string>,
): Promise<Value> {
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: join(import.meta.dirname, "../engines"),
    env: { ...process.env, ...environment },
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout);
}
