import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type Calls, createCalls } from "./calls.ts";
import { describeExchange } from "./describe-exchange.ts";
import type { Fault, Settings, StandInAnswer, StandInRequest, StandInType } from "./endpoint.ts";
import { createScript, fail, type Failure, type Script, send } from "./failures.ts";

/** A server on this machine that behaves like a dialing provider and phones nobody. */
export interface StandIn {
  type: string;
  /** Base URL for the account's `baseUrl`. */
  url: string;
  calls: Calls;
  settings: Settings;
  /** Plays failures instead of the right answers. */
  play: Script["play"];
  /** Returns to the right answers. */
  playNothing(): void;
  /** All requests, in order. */
  requests: readonly (StandInRequest & { at: number })[];
  /** Faults of requests against the provider's reference, in order. A test asserts that there are none. */
  problems: readonly string[];
  close(): Promise<void>;
}

interface StandInOptions {
  /** Accepted secrets, by their names without the account's. Default: the type's made-up ones. */
  secrets?: Record<string, string>;
  /** Current time in milliseconds since the epoch. */
  now?: () => number;
  /** Prints a line for each request, without whole numbers, context values or secrets. */
  print?: (line: string) => void;
  /** Texts that are printed as they are. */
  visible?: ReadonlySet<string>;
}

/** Starts a stand-in on a free port of 127.0.0.1. */
export async function startStandIn(
  type: StandInType,
  { secrets = type.secrets, now = Date.now, print, visible = new Set() }: StandInOptions = {},
): Promise<StandIn> {
  const calls = createCalls(now);
  const settings: Settings = {
    hasAgent: true,
    hasLine: true,
    ringSeconds: 2,
    talkSeconds: 5,
    callBackSeconds: 120,
  };
  const script = createScript();
  const requests: (StandInRequest & { at: number })[] = [];
  const problems: string[] = [];
  const imitation = type.create({ calls, secrets, now, settings });

  const server = createServer((message, response) => {
    receive(message, async (request) => {
      requests.push({ ...request, at: now() });
      const { answer, problem, failure } = await answerTo(request, imitation, script);
      if (problem !== undefined) problems.push(`${request.method} ${request.path}: ${problem}`);
      const { status } = failure?.how === "answer" ? failure : answer;
      const exchange = { status, problem, failure: failure?.how };
      print?.(describeExchange(type.name, { request, exchange }, visible));
      if (failure === undefined) send(answer, response);
      else fail(failure, answer, response);
    }).catch((error: unknown) => {
      problems.push(error instanceof Error ? error.message : "the stand-in failed");
      response.destroy();
    });
  });
  // A connection that closes as it is used again makes a call's outcome unknown.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
  const { port } = server.address() as AddressInfo;
  return {
    type: type.name,
    url: `http://127.0.0.1:${port}`,
    calls,
    settings,
    play: script.play,
    playNothing: script.clear,
    requests,
    problems,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Maximum size of a request that is read. */
const requestBytesMax = 4 * 1024 * 1024;

/** Reads a request whole, and resolves when `handle` has. */
async function receive(
  message: IncomingMessage,
  handle: (request: StandInRequest) => Promise<void>,
): Promise<void> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > requestBytesMax) throw new Error("a request was too large");
    chunks.push(chunk);
  }
  const { method = "", url = "/", headers } = message;
  const { pathname: path, searchParams: query } = new URL(url, "http://127.0.0.1");
  await handle({ method, path, query, headers, text: Buffer.concat(chunks).toString() });
}

interface Respond {
  answer: StandInAnswer;
  /** Fault of the request, if it has one. */
  problem?: string;
  /** Failure that is played instead of the answer. */
  failure?: Failure | undefined;
}

/** Returns what the provider would answer: an error where its reference does not permit the request. */
async function answerTo(
  request: StandInRequest,
  { endpoints, credentialProblem, refuse }: ReturnType<StandInType["create"]>,
  script: Script,
): Promise<Respond> {
  const refused = (fault: Fault, text: string, field: string[] = []) => ({
    answer: refuse({ fault, text, field }),
    problem: text,
  });
  const reached = endpoints.filter(({ path }) => path.test(request.path));
  const endpoint = reached.find(({ method }) => method === request.method);
  if (endpoint === undefined) {
    return refused("address", reached.length > 0 ? "the method is not allowed" : "no such path");
  }
  const { purpose } = endpoint;
  const wrong = await credentialProblem(request, purpose);
  if (wrong !== undefined) return refused("credentials", wrong);
  const read = endpoint.read(request);
  if ("problem" in read) return refused(read.problem.fault, read.problem.text, read.problem.field);
  const failure = script.next(purpose, request);
  const isPerformed = failure === undefined || failure.how === "slow" || failure.places === true;
  return { answer: isPerformed ? read.perform() : { status: 200, body: {} }, failure };
}
