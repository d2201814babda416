import type { ServerResponse } from "node:http";
import type { Purpose, StandInAnswer, StandInRequest } from "./endpoint.ts";

/**
 * A failure of a provider. With `places: true` the request is carried out before it fails, so that the call
 * rings though nobody learns of it.
 */
export type Failure =
  /** Another answer. A text is sent as it is, any other body as JSON. */
  | {
      how: "answer";
      status: number;
      body?: unknown;
      headers?: Record<string, string>;
      places?: true;
    }
  /** No answer ever. */
  | { how: "hang"; places?: true }
  /** The right answer, late. */
  | { how: "slow"; milliseconds: number }
  /** The connection is reset. */
  | { how: "reset"; places?: true }
  /** An answer of which only the beginning comes. */
  | { how: "break_off"; places?: true }
  /** An answer that never ends. */
  | { how: "endless"; places?: true };

/** A failure with the requests that it is for. */
interface Planned extends Required<PlayOptions> {
  failure: Failure;
}

/** The requests that a failure is for. Default: the next one that places a call. */
interface PlayOptions {
  times?: number;
  at?: Purpose;
  /** Selects among the requests of that purpose. */
  when?: (request: StandInRequest) => boolean;
}

/** The failures that a stand-in is to play. */
export interface Script {
  /** Plays a failure, in turn with those that were set before. */
  play(failure: Failure, options?: PlayOptions): void;
  /** Removes every failure. */
  clear(): void;
  /** Returns the failure of the next request, and counts it as played. */
  next(purpose: Purpose, request: StandInRequest): Failure | undefined;
}

export function createScript(): Script {
  let planned: Planned[] = [];
  return {
    play(failure, { times = 1, at = "call", when = () => true } = {}) {
      planned.push({ failure, times, at, when });
    },
    clear: () => (planned = []),
    next(purpose, request) {
      const next = planned.find(
        ({ at, times, when }) => at === purpose && times > 0 && when(request),
      );
      if (next !== undefined) next.times--;
      return next?.failure;
    },
  };
}

/** Sends an answer as it is. */
export function send(
  { status, body, headers = {} }: StandInAnswer,
  response: ServerResponse,
): void {
  const isText = typeof body === "string";
  const contentType = isText ? "text/plain" : "application/json";
  response.writeHead(status, { "content-type": contentType, ...headers });
  response.end(isText ? body : body === undefined ? "" : JSON.stringify(body));
}

/** Fails in the given way. `answer` is what the provider would have answered. */
export function fail(failure: Failure, answer: StandInAnswer, response: ServerResponse): void {
  switch (failure.how) {
    case "answer":
      send(failure, response);
      return;
    case "hang":
      return;
    case "slow":
      setTimeout(() => send(answer, response), failure.milliseconds).unref();
      return;
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "break_off":
      response.writeHead(answer.status, { "content-length": "100000" });
      // The head has left before the connection ends, however slow the machine is.
      response.write('{"id": "', () => response.socket?.end());
      return;
    case "endless":
      response.writeHead(answer.status);
      writeOn(response);
  }
}

const piece = "x".repeat(64 * 1024);

/** Writes as fast as the other side reads, until it goes. */
function writeOn(response: ServerResponse): void {
  while (!response.destroyed) {
    if (!response.write(piece)) {
      response.once("drain", () => writeOn(response));
      return;
    }
  }
}
