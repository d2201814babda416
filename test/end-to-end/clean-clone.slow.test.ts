import { execFile, spawn } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, until } from "../support/service.ts";

const root = resolve(import.meta.dirname, "../..");
/** Npm asks no registry, and a request to any other host fails at once. */
const offline = {
  npm_config_offline: "true",
  HTTPS_PROXY: "http://127.0.0.1:9",
  HTTP_PROXY: "http://127.0.0.1:9",
};

describe("a clean clone after npm ci", () => {
  let clone: string;
  beforeAll(async () => {
    clone = await mkdtemp(join(tmpdir(), "outbound-calls-clone-"));
    const list = ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z"];
    const { stdout } = await promisify(execFile)("git", list, { cwd: root, maxBuffer: 1 << 24 });
    for (const file of stdout.split("\0").filter((name) => name !== "")) {
      // A file that was deleted and not yet committed is listed too.
      await cp(join(root, file), join(clone, file)).catch(() => undefined);
    }
    await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  });
  afterAll(() => rm(clone, { recursive: true, force: true }));

  it("starts without a network, and builds what git does not hold", async () => {
    const port = await freePort();
    const child = spawn("npm", ["start"], {
      cwd: clone,
      env: { ...process.env, ...offline, PORT: String(port), STATE_DIR: ".state" },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise((done) => child.once("close", done));
    try {
      await until(() => output.includes("is ready at") || child.exitCode !== null);
      expect(output).toContain(`Outbound Calls is ready at http://127.0.0.1:${port}`);
      const at = `http://127.0.0.1:${port}`;
      expect((await fetch(`${at}/openapi.json`)).status).toBe(200);
      expect((await fetch(`${at}/operator`)).status).toBe(200);
    } finally {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
      await ended;
    }
  });
});
