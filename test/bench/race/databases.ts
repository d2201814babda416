/** Databases of the engines, each on a free loopback port with a folder of its own. */
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "#test/support/service.ts";
import { startChild, untilListening } from "./children.ts";
import type { EngineState } from "./engine.ts";

const [programs] = globSync("/usr/lib/postgresql/*/bin").toSorted().toReversed();
const user = "postgres";

/** Why Postgres cannot be started here, or undefined. */
export function noPostgres(): string | undefined {
  if (programs !== undefined && existsSync(join(programs, "initdb"))) return undefined;
  return "Postgres is not installed on this machine (`apt-get install postgresql`)";
}

/** Postgres refuses to run as root: then it runs as the user whom its package creates. */
function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string) => Number(spawnSync("id", [flag, user]).stdout.toString());
  return { uid: idOf("-u"), gid: idOf("-g") };
}

/** Starts Debian's Postgres with its default settings. */
export async function startPostgres() {
  if (programs === undefined) throw new Error(noPostgres());
  const directory = await mkdtemp(join(tmpdir(), "bench-postgres-"));
  const ids = owner();
  if (ids.uid !== undefined && ids.gid !== undefined) chownSync(directory, ids.uid, ids.gid);
  const data = join(directory, "data");
  const made = spawnSync(
    join(programs, "initdb"),
    ["-D", data, "-U", user, "--auth=trust", "--encoding=UTF8", "--no-instructions"],
    { ...ids, cwd: directory },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  const port = await freePort();
  const server = startChild(
    join(programs, "postgres"),
    ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", directory],
    { ...ids, cwd: directory, log: join(tmpdir(), "bench-postgres.log") },
  );
  await untilListening(port);
  const url = `postgresql://${user}@127.0.0.1:${port}/postgres`;
  return {
    url,
    pid: server.pid,
    /** Runs a query that returns the state as one JSON value. */
    state(sql: string): EngineState {
      const { status, stdout, stderr } = spawnSync("psql", [url, "-qtAc", sql], {
        maxBuffer: 64 * 1024 * 1024,
      });
      if (status !== 0) throw new Error(`psql failed: ${stderr.toString()}`);
      return JSON.parse(stdout.toString());
    },
    async stop() {
      await server.end("SIGINT");
      await rm(directory, { recursive: true, force: true });
    },
  };
}
