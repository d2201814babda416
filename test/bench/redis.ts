import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Redis {
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** Text in place of a comparison that needs Redis on a machine without it. */
export const noRedis =
  "**Left out: redis-server is not installed on this machine (`apt-get install redis-server`).**";

/** True if redis-server is installed. */
export function hasRedis(): boolean {
  return spawnSync("redis-server", ["--version"]).status === 0;
}

/**
 * Starts Debian's redis-server on a free loopback port, which keeps only its append-only file (`appendfsync
 * everysec`, its default) in a folder of its own. Resolves to undefined, with a loud message, if it is not
 * installed.
 */
export async function startRedis(): Promise<Redis | undefined> {
  if (!hasRedis()) {
    console.error(
      "\n!!! redis-server is not installed: the comparisons with BullMQ are left out.\n",
    );
    return undefined;
  }
  const directory = await mkdtemp(join(tmpdir(), "bench-redis-"));
  const port = await freePort();
  const options = ["--bind", "127.0.0.1", "--port", String(port), "--dir", directory];
  const durable = ["--save", "", "--appendonly", "yes"];
  const server = spawn("redis-server", [...options, ...durable], { stdio: "ignore" });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  await untilListening(port, server);
  return {
    port,
    pid: server.pid ?? 0,
    async stop() {
      server.kill("SIGTERM");
      await ended;
      process.off("exit", kill);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

async function untilListening(port: number, server: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (server.exitCode !== null) throw new Error("redis-server ended at its start");
    const open = await new Promise<boolean>((resolve) => {
      const socket = createConnection({ host: "127.0.0.1", port });
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("redis-server does not listen");
}
