import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { dirname, join, resolve } from "node:path";
import { nextTrace } from "./lineage.ts";
import { host } from "./settings.ts";

/**
 * Maximum bytes of an event, and of an answer; and of an event that is invoked asynchronously.
 * https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
 */
export const payloadBytesMax = 6 * 1024 * 1024;
export const asyncPayloadBytesMax = 1024 * 1024;

interface Invocation {
  /** The event, as JSON. */
  payload: string;
  trace: string;
  answered(response: unknown): void;
  failed(error: Error): void;
}

/** A Lambda function on this machine: its built bundle in separate processes, each with one invocation at a time. */
export interface LocalFunction {
  name: string;
  /**
   * Resolves to the handler's answer. Rejects if it throws, exceeds its time limit or its process dies, and if the event or
   * the answer is larger than Lambda takes.
   *
   * @param trace the chain that the invocation continues (`nextTrace`). Absent: it begins one
   */
  invoke(event: unknown, trace?: string): Promise<unknown>;
  stop(): Promise<void>;
}

const ownBootstrap = resolve(import.meta.dirname, "lambda-bootstrap.ts");
const respawnMs = 200;
/**
 * By default each of nine processes would collect 48 MB of garbage before it cleans up. A lower limit costs no more
 * CPU.
 */
const nodeOptions = ["--max-semi-space-size=2"];

interface FunctionOptions {
  name: string;
  bundle: string;
  environment: Record<string, string>;
  instances: number;
  timeoutSeconds: number;
  /** The bundle of lambda-bootstrap.ts. Absent: Node strips its types. */
  bootstrap?: string;
}

/** State that the instances of a function share. */
interface Shared extends FunctionOptions {
  waiting: Invocation[];
  running: Set<Instance>;
  isStopping: boolean;
}

interface Instance {
  /** True while its process has an invocation. */
  isBusy(): boolean;
  /** Gives the oldest waiting invocation to the process, once both are there. */
  dispatch(): void;
  /** Stops the process, and resolves once it has gone. */
  stop(): Promise<void>;
}

/**
 * Runs a function like Lambda: up to `instances` processes, each started when an invocation finds the others busy, that
 * fetch invocations from a Runtime API (2018-06-01). The death of a process fails its invocation only.
 */
export function startFunction(options: FunctionOptions): LocalFunction {
  const shared: Shared = { ...options, waiting: [], running: new Set(), isStopping: false };
  return {
    name: options.name,
    invoke: (event, trace = nextTrace([], options.name) ?? "") =>
      new Promise((answered, failed) => {
        const payload = JSON.stringify(event);
        if (Buffer.byteLength(payload) > payloadBytesMax) {
          return failed(new Error(`${options.name} takes no event of more than 6 MB`));
        }
        shared.waiting.push({ payload, trace, answered, failed });
        for (const instance of shared.running) instance.dispatch();
        startMissing(shared);
      }),
    async stop() {
      shared.isStopping = true;
      await Promise.all([...shared.running].map((instance) => instance.stop()));
    },
  };
}

/** Starts processes until each waiting invocation has one that is free or starting, or there are enough. */
function startMissing(shared: Shared): void {
  const { waiting, running, instances } = shared;
  if (shared.isStopping) return;
  const free = [...running].filter((instance) => !instance.isBusy()).length;
  const missing = Math.min(waiting.length - free, instances - running.size);
  for (let n = 0; n < missing; n++) running.add(startInstance(shared));
}

/** Starts a process of a function, once its Runtime API listens. Another one follows it when it dies, where one is needed. */
function startInstance(shared: Shared): Instance {
  const { name, bundle, environment, bootstrap = ownBootstrap } = shared;
  let child: ChildProcess | undefined;
  let gone = Promise.resolve();
  const slot = createSlot(shared, () => child?.kill("SIGKILL"));
  const instance: Instance = {
    isBusy: slot.isBusy,
    dispatch: slot.dispatch,
    async stop() {
      child?.kill("SIGKILL");
      await gone;
    },
  };
  const api = createServer((request, response) => void slot.serve(request, response));
  api.listen(0, host, () => {
    if (shared.isStopping) return api.close();
    const address = api.address();
    const port = typeof address === "object" ? address?.port : undefined;
    child = spawn(process.execPath, [...nodeOptions, bootstrap, bundle, name], {
      env: {
        ...environment,
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_RUNTIME_API: `${host}:${port}`,
        // Processes of one function compile its bundle once. A module of the tests is no bundle.
        ...(shared.bootstrap !== undefined && {
          NODE_COMPILE_CACHE: join(dirname(bundle), ".compiled"),
        }),
        PATH: process.env["PATH"],
      },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const { promise, resolve: exited } = Promise.withResolvers<void>();
    gone = promise;
    child.once("exit", () => {
      exited();
      shared.running.delete(instance);
      api.closeAllConnections();
      api.close();
      slot.finish(({ failed }) => failed(new Error(`${name}'s process died`)));
      setTimeout(() => startMissing(shared), respawnMs);
    });
  });
  return instance;
}

/** Creates the Runtime API of one process, which has one invocation at a time. */
function createSlot({ name, timeoutSeconds, waiting }: Shared, kill: () => void) {
  let idle: ServerResponse | undefined;
  let current: { invocation: Invocation; timer: NodeJS.Timeout } | undefined;

  function dispatch(): void {
    if (idle === undefined || current !== undefined) return;
    const invocation = waiting.shift();
    if (invocation === undefined) return;
    current = { invocation, timer: setTimeout(kill, timeoutSeconds * 1000) };
    idle.writeHead(200, {
      "content-type": "application/json",
      "lambda-runtime-aws-request-id": randomUUID(),
      "lambda-runtime-deadline-ms": String(Date.now() + timeoutSeconds * 1000),
      "lambda-runtime-invoked-function-arn": `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
      "lambda-runtime-trace-id": invocation.trace,
    });
    idle.end(invocation.payload);
    idle = undefined;
  }

  function finish(end: (invocation: Invocation) => void): void {
    if (current === undefined) return;
    const { invocation, timer } = current;
    clearTimeout(timer);
    current = undefined;
    end(invocation);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (path.endsWith("/invocation/next")) {
      idle = response;
      dispatch();
      return;
    }
    const bytes = await bytesOf(request);
    const body = bytes.toString();
    response.writeHead(202).end();
    if (bytes.length > payloadBytesMax) {
      finish(({ failed }) => failed(new Error(`${name}'s answer has more than 6 MB`)));
    } else if (path.endsWith("/response")) finish(({ answered }) => answered(JSON.parse(body)));
    else finish(({ failed }) => failed(new Error(`${name} failed: ${body}`)));
  }

  return { isBusy: () => current !== undefined, dispatch, finish, serve };
}

export async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
