/** The engines that are raced beside this service, each built as its own documentation shows it. */
import { join } from "node:path";
import { tmpdir } from "node:os";
import { mkdtemp, rm } from "node:fs/promises";
import { freePort } from "#test/support/service.ts";
import { hasRedis, noRedis, startRedis } from "../redis.ts";
import { type Child, startChild, startScript, untilListening } from "./children.ts";
import { noPostgres, startPostgres } from "./databases.ts";
import type { Engine, EngineState, RunningEngine } from "./engine.ts";
import { runScript } from "./scripts.ts";

const logOf = (name: string) => join(tmpdir(), `bench-${name}.log`);

/** An API and a worker of an engine over its database. */
async function startApiAndWorker(
  name: string,
  environment: Record<string, string>,
  database: { pid: number; stop(): Promise<void> },
  state: () => Promise<EngineState>,
): Promise<RunningEngine> {
  const port = await freePort();
  const log = logOf(name);
  const startWorker = () => startScript(`${name}/worker.ts`, environment, log);
  // The worker is first, as it creates what its database must have.
  let worker = startWorker();
  const api = startScript(`${name}/api.ts`, { ...environment, PORT: String(port) }, log);
  await untilListening(port);
  return {
    async accept(call) {
      const response = await post(`http://127.0.0.1:${port}/calls`, call);
      if (response?.ok !== true) return undefined;
      const { id }: { id: string } = JSON.parse(await response.text());
      return id;
    },
    async kill() {
      await worker.end("SIGKILL");
      worker = startWorker();
    },
    state,
    roots: () => ({ engine: [api.pid, worker.pid], database: [database.pid] }),
    async stop() {
      await Promise.all([worker.end("SIGKILL"), api.end("SIGKILL")]);
      await database.stop();
    },
  };
}

/** Posts JSON. Resolves to undefined if nobody answers. */
async function post(url: string, body: unknown): Promise<Response | undefined> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
  }).catch(() => undefined);
}

export const bullmq: Engine = {
  name: "BullMQ on Redis",
  code: ["dial.ts", "bullmq/api.ts", "bullmq/worker.ts"],
  absent: () => (hasRedis() ? undefined : noRedis),
  async start(providerUrl) {
    const redis = await startRedis();
    if (redis === undefined) throw new Error(noRedis);
    const environment = { REDIS_PORT: String(redis.port), PROVIDER_URL: providerUrl };
    return startApiAndWorker("bullmq", environment, redis, () =>
      runScript("bullmq/state.ts", environment),
    );
  },
};

/**
 * An engine over Postgres: where its calls stand, the columns of their ids and states, and the states of those
 * that are still to be dialed and of those that are done. All others are left for a person.
 */
function overPostgres(
  name: string,
  folder: string,
  files: readonly string[],
  { rows, id, status, open, done }: Record<"rows" | "id" | "status" | "open" | "done", string>,
): Engine {
  const idsWhere = (condition: string) =>
    `coalesce(json_agg(${id}) FILTER (WHERE ${condition}), '[]')`;
  return {
    name,
    code: ["dial.ts", ...files.map((file) => `${folder}/${file}`)],
    absent: noPostgres,
    async start(providerUrl) {
      const postgres = await startPostgres();
      const environment = { DATABASE_URL: postgres.url, PROVIDER_URL: providerUrl };
      return startApiAndWorker(folder, environment, postgres, async () =>
        postgres.state(
          `SELECT json_build_object('open', ${idsWhere(`${status} IN (${open})`)},
             'left', ${idsWhere(`${status} NOT IN (${open}, ${done})`)}) FROM ${rows}`,
        ),
      );
    },
  };
}

export const pgBoss = overPostgres(
  "pg-boss on Postgres",
  "pg-boss",
  ["queue.ts", "api.ts", "worker.ts"],
  {
    rows: "pgboss.job WHERE name = 'calls'",
    id: "id",
    status: "state",
    open: "'created', 'retry', 'active'",
    done: "'completed'",
  },
);

export const dbos = overPostgres("DBOS on Postgres", "dbos", ["api.ts", "worker.ts"], {
  rows: "dbos.workflow_status",
  id: "workflow_uuid",
  status: "status",
  open: "'ENQUEUED', 'PENDING', 'DELAYED'",
  done: "'SUCCESS'",
});

const restateServer = join(
  import.meta.dirname,
  `../node_modules/@restatedev/restate-server-${process.platform}-${process.arch}`,
  "bin/restate-server",
);

/** Statuses of the invocations by id, as Restate's own introspection tells them. */
async function invocationsOf(admin: string): Promise<EngineState> {
  const response = await post(`${admin}/query`, {
    query: "SELECT id, status, completion_result FROM sys_invocation",
  });
  const { rows }: { rows: { id: string; status: string; completion_result?: string }[] } =
    JSON.parse((await response?.text()) ?? "");
  const isLeft = (row: (typeof rows)[number]) =>
    row.status === "paused" || row.completion_result === "failure";
  return {
    left: rows.filter(isLeft).map(({ id }) => id),
    open: rows.filter((row) => row.status !== "completed" && !isLeft(row)).map(({ id }) => id),
  };
}

export const restate: Engine = {
  name: "Restate",
  code: ["dial.ts", "restate/worker.ts"],
  async start(providerUrl) {
    const directory = await mkdtemp(join(tmpdir(), "bench-restate-"));
    const [node, ingress, adminPort, workerPort] = await Promise.all([
      freePort(),
      freePort(),
      freePort(),
      freePort(),
    ]);
    const log = logOf("restate");
    const server = startChild(
      restateServer,
      ["--no-logo", "--listen-mode", "tcp", "--bind-ip", "127.0.0.1", "--bind-port", String(node)],
      {
        log,
        cwd: directory,
        environment: {
          RESTATE_BASE_DIR: join(directory, "data"),
          RESTATE_INGRESS__BIND_PORT: String(ingress),
          RESTATE_ADMIN__BIND_PORT: String(adminPort),
          RESTATE_DISABLE_TELEMETRY: "true",
        },
      },
    );
    const environment = { PORT: String(workerPort), PROVIDER_URL: providerUrl };
    const startWorker = () => startScript("restate/worker.ts", environment, log);
    let worker: Child = startWorker();
    await Promise.all([ingress, adminPort, workerPort].map(untilListening));
    const admin = `http://127.0.0.1:${adminPort}`;
    const registered = await post(`${admin}/deployments`, {
      uri: `http://127.0.0.1:${workerPort}`,
    });
    if (registered?.ok !== true) throw new Error("Restate did not register its worker");
    return {
      async accept(call) {
        const response = await post(`http://127.0.0.1:${ingress}/calls/place/send`, call);
        if (response?.ok !== true) return undefined;
        const { invocationId }: { invocationId: string } = JSON.parse(await response.text());
        return invocationId;
      },
      async kill() {
        await worker.end("SIGKILL");
        worker = startWorker();
      },
      state: () => invocationsOf(admin),
      roots: () => ({ engine: [worker.pid], database: [server.pid] }),
      async stop() {
        await Promise.all([worker.end("SIGKILL"), server.end("SIGKILL")]);
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
};
