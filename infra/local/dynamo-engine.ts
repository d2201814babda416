import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import dynalite from "dynalite";

export type DynamoEngineName = "dynoxide" | "dynalite";

/** A DynamoDB server on this machine's loopback interface. */
export interface DynamoEngine {
  endpoint: string;
  stop(): Promise<void>;
}

const require = createRequire(import.meta.url);
/** Time for which an idle connection stays open. */
const keepAliveMs = 600_000;

/** Program of the quicker engine, for the machines that it is installed on; package.json names them. */
function findDynoxide(): string | undefined {
  try {
    return require.resolve(`@dynoxide/${process.platform}-${process.arch}/dynoxide`);
  } catch {
    return undefined;
  }
}

/** Dynoxide where its program is installed, dynalite elsewhere. */
export const quickestDynamo: DynamoEngineName =
  findDynoxide() === undefined ? "dynalite" : "dynoxide";

/**
 * Starts a DynamoDB server: dynoxide (SQLite in a separate program) or dynalite (LevelDB in this process). With a
 * `directory` it stores its data there, otherwise in memory. What dynoxide has answered survives SIGKILL. Dynalite
 * writes an item and its index entries one after another, and a SIGKILL may come in between.
 */
export async function startDynamoEngine(
  name: DynamoEngineName,
  directory?: string,
): Promise<DynamoEngine> {
  if (directory !== undefined) mkdirSync(directory, { recursive: true });
  return name === "dynoxide" ? startDynoxide(directory) : startDynalite(directory);
}

/** Ends the program at the end of the input, so also when this process is killed. */
const untilInputEnds = '"$@" & read -r line; kill -KILL $!; wait';

async function startDynoxide(directory: string | undefined): Promise<DynamoEngine> {
  const program = findDynoxide();
  if (program === undefined) throw new Error("dynoxide is not installed on this machine");
  const files = directory === undefined ? [] : ["--db-path", join(directory, "tables.sqlite")];
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const shell = spawn(
      "sh",
      ["-c", untilInputEnds, "sh", program, "--port", String(port), ...files],
      // A session of its own: Ctrl-C reaches this process, which still writes until it has ended.
      { detached: true, stdio: ["pipe", "ignore", "pipe"] },
    );
    shell.unref();
    const ended = once(shell, "exit");
    const stop = async () => {
      shell.ref(); // this process waits for its end
      shell.stdin.end();
      await ended;
    };
    const printed = await firstLines(shell.stderr);
    if (printed.includes("listening on")) return { endpoint: `http://127.0.0.1:${port}`, stop };
    await stop();
    // Another program may have taken the port in the meantime.
    if (tries === 3) throw new Error(`dynoxide does not start: ${printed}`);
  }
}

/** Resolves to the lines that a program prints until it listens or ends. */
async function firstLines(output: Readable): Promise<string> {
  let printed = "";
  for await (const part of output.iterator({ destroyOnReturn: false })) {
    printed += String(part);
    if (printed.includes("listening on")) break;
  }
  output.resume();
  return printed;
}

/** A port that nobody listens on. Dynoxide does not report which one it chose. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function startDynalite(directory: string | undefined): Promise<DynamoEngine> {
  const server = dynalite({
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
    ...(directory === undefined ? {} : { path: directory }),
  });
  // Node closes an idle connection after five seconds, perhaps as a client writes its next request to it.
  server.keepAliveTimeout = keepAliveMs;
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
