/** This service in the race, in both of its shapes, as `npm start` and `npm run start:aws` run it. */
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createToken } from "#shared/settings/tokens.ts";
import { createLedgerReader } from "#test/load/ledger.ts";
import { openLocalD1 } from "#test/support/local-d1.ts";
import { aws } from "#test/support/platforms.ts";
import { functionProcesses } from "#test/support/processes.ts";
import { statesWhere } from "#shared/calls/states.ts";
import { freePort, makeStateDirectory, startService, until } from "#test/support/service.ts";
import { startChild } from "./children.ts";
import type { Engine, EngineState, RunningEngine } from "./engine.ts";
import type { Gate } from "./gate.ts";
import { place } from "../engines/ours/call.ts";

const planFile = join(import.meta.dirname, "../engines/ours/plan.json");
const waitMsMax = 60_000;
const root = join(import.meta.dirname, "../../..");
const openStates: ReadonlySet<string> = new Set(statesWhere(({ open }) => open));

function settingsFor(providerUrl: string) {
  const [token, operator] = [createToken(), createToken()];
  const plan = readFileSync(planFile, "utf8").replace("https://example.com/dial", providerUrl);
  return {
    token: token.token,
    operatorToken: operator.token,
    environment: {
      API_TOKENS: JSON.stringify([{ id: "bench", sha256: token.sha256 }]),
      OPERATOR_TOKENS: JSON.stringify([{ id: "bench", sha256: operator.sha256 }]),
      DIAL_PLAN: plan,
    },
  };
}

/** The part that both shapes share: posts, and the operator's view of the ledger. */
function clientOf(address: () => string, token: string, operatorToken: string) {
  const ledger = createLedgerReader(address, operatorToken, Date.now() - 60_000);
  return {
    accept: (call: object) => place(address(), token, call).catch(() => undefined),
    async state(): Promise<EngineState> {
      const rows = [...(await ledger.list()).values()];
      const ids = (wanted: (state: string) => boolean) =>
        rows.filter((row) => wanted(row.state)).map(({ id }) => id);
      return {
        open: ids((state) => openStates.has(state)),
        left: ids((state) => !openStates.has(state) && state !== "PLACED"),
      };
    },
  };
}

const code = ["ours/plan.json", "ours/call.ts"];

/** Its dialers are killed all at once and restarted by their runtime. */
export const oursOnAws: Engine = {
  name: "ours, AWS shape",
  code,
  async start(providerUrl): Promise<RunningEngine> {
    const { environment, token, operatorToken } = settingsFor(providerUrl);
    const directory = await makeStateDirectory();
    const service = await startService(aws, environment, directory.path);
    const endNow = () => void service.end("SIGKILL");
    process.once("exit", endNow);
    const dialers = () => functionProcesses(service, "dialer").map(({ pid }) => pid);
    return {
      ...clientOf(() => service.address, token, operatorToken),
      async kill() {
        const dead = dialers();
        for (const pid of dead) process.kill(pid, "SIGKILL");
        const isReplaced = () => dialers().some((pid) => !dead.includes(pid));
        await until(isReplaced, { hangMs: waitMsMax });
      },
      roots: () => ({ engine: [service.npm.pid ?? 0], database: [] }),
      async stop() {
        process.off("exit", endNow);
        await service.end("SIGKILL");
        await directory.remove();
      },
    };
  },
};

/** Waits until the local D1 has this many calls, read beside the running service. @throws if it has not in time */
async function untilRows(stateDirectory: string, calls: number): Promise<void> {
  using database = await openLocalD1(stateDirectory);
  const count = database.prepare("SELECT count(*) AS count FROM calls");
  await until(() => Number(count.get()?.["count"]) >= calls, { hangMs: waitMsMax, everyMs: 5 });
}

/** A folder whose `wrangler` does nothing: a restart has its bundles and its migrated D1 already. */
async function makeIdleWrangler(directory: string): Promise<string> {
  const folder = join(directory, "idle");
  await mkdir(folder);
  await writeFile(join(folder, "wrangler"), "#!/bin/sh\n", { mode: 0o755 });
  return folder;
}

/**
 * All of it is killed at once, as API, dialer and queue share a process. That local queue is in memory, unlike
 * Cloudflare's, so posts are held back until each accepted call has a row. The kill comes at that very moment,
 * when the last of them are being dialed. A restart runs the bundles of the first start.
 */
export const oursOnWorkerd: Engine = {
  name: "ours, workerd",
  code,
  async start(providerUrl): Promise<RunningEngine> {
    const { environment, token, operatorToken } = settingsFor(providerUrl);
    const directory = await makeStateDirectory();
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    let starts = 0;
    const start = async (path: string) => {
      const log = join(directory.path, `start-${starts++}.log`);
      const child = startChild(process.execPath, ["infra/local/start.ts"], {
        cwd: root,
        log,
        environment: { ...environment, PORT: String(port), STATE_DIR: directory.path, PATH: path },
        group: true,
      });
      // Its API answers a little before Miniflare is ready, which requests at that time can block for good.
      await until(() => readFileSync(log, "utf8").includes("ready at"), { hangMs: waitMsMax });
      return child;
    };
    const { PATH = "" } = process.env;
    let service = await start(PATH);
    const restartPath = `${await makeIdleWrangler(directory.path)}:${PATH}`;
    return {
      ...clientOf(() => address, token, operatorToken),
      async kill(gate: Gate) {
        await untilRows(directory.path, await gate.close());
        await service.end("SIGKILL");
        service = await start(restartPath);
        gate.open();
      },
      roots: () => ({ engine: [service.pid], database: [] }),
      async stop() {
        await service.end("SIGKILL");
        await directory.remove();
      },
    };
  },
};
