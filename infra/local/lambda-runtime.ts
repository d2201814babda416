import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { resolve } from "node:path";
import { host } from "./settings.ts";

interface Invocation {
  event: unknown;
  answered(response: unknown): void;
  failed(error: Error): void;
}

/** A Lambda function on this machine: its built bundle in separate processes, each with one invocation at a time. */
export interface LocalFunction {
  /** Resolves to the handler's answer. Rejects if it throws, exceeds its time limit or its process dies. */
  invoke(event: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

const bootstrap = resolve(import.meta.dirname, "lambda-bootstrap.ts");
const respawnMs = 200;

/**
 * Runs a function like Lambda: `instances` processes that fetch invocations from a Runtime API (2018-06-01)
 * and are restarted when they die. The death of a process fails its invocation only.
 */
export async function startFunction(options: {
  name: string;
  bundle: string;
  environment: Record<string, string>;
  instances: number;
  timeoutSeconds: number;
}): Promise<LocalFunction> {
  const { name, bundle, environment, instances, timeoutSeconds } = options;
  const waiting: Invocation[] = [];
  const apis: { close(): void }[] = [];
  const children = new Set<ChildProcess>();
  let stopping = false;

  async function startInstance(): Promise<void> {
    let idle: ServerResponse | undefined;
    let current: { id: string; invocation: Invocation; timer: NodeJS.Timeout } | undefined;

    /** Gives the oldest waiting invocation to the process, once both are there. */
    function dispatch(): void {
      if (idle === undefined || current !== undefined) return;
      const invocation = waiting.shift();
      if (invocation === undefined) return;
      const id = randomUUID();
      const timer = setTimeout(() => child.kill("SIGKILL"), timeoutSeconds * 1000);
      current = { id, invocation, timer };
      idle.writeHead(200, {
        "content-type": "application/json",
        "lambda-runtime-aws-request-id": id,
        "lambda-runtime-deadline-ms": String(Date.now() + timeoutSeconds * 1000),
        "lambda-runtime-invoked-function-arn": `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
        "lambda-runtime-trace-id": "",
      });
      idle.end(JSON.stringify(invocation.event));
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
      const body = await textOf(request);
      response.writeHead(202).end();
      if (path.endsWith("/response")) finish(({ answered }) => answered(JSON.parse(body)));
      else finish(({ failed }) => failed(new Error(`${name} failed: ${body}`)));
    }

    const api = createServer((request, response) => void serve(request, response));
    await new Promise<void>((listening) => api.listen(0, host, listening));
    const address = api.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const child = spawn(process.execPath, [bootstrap, bundle, name], {
      env: { ...environment, AWS_LAMBDA_RUNTIME_API: `${host}:${port}`, PATH: process.env["PATH"] },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const wake = { dispatch };
    wakers.add(wake);
    children.add(child);
    apis.push(api);
    child.once("exit", () => {
      wakers.delete(wake);
      children.delete(child);
      api.closeAllConnections();
      api.close();
      finish(({ failed }) => failed(new Error(`${name}'s process died`)));
      if (!stopping) setTimeout(() => void startInstance(), respawnMs);
    });
  }

  const wakers = new Set<{ dispatch(): void }>();
  await Promise.all(Array.from({ length: instances }, startInstance));
  return {
    invoke: (event) =>
      new Promise((answered, failed) => {
        waiting.push({ event, answered, failed });
        for (const { dispatch } of wakers) dispatch();
      }),
    async stop() {
      stopping = true;
      await Promise.all(
        [...children].map(
          (child) =>
            new Promise<void>((gone) => {
              child.once("exit", () => gone());
              child.kill("SIGKILL");
            }),
        ),
      );
      for (const api of apis) api.close();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  return (await bytesOf(request)).toString();
}

export async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
