import type { IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { type OutgoingRequest, type Send, Withheld } from "../lib/http-client.ts";
import { isPublicOrName } from "../lib/public-address.ts";
import { createPublicLookup, notPublic, type Resolve } from "./public-lookup.ts";

/** An import of this module would evaluate what it exports, Node's `fetch` too: a quarter of the dialer's start. */
const { Agent: HttpAgent, request: requestHttp } = process.getBuiltinModule("node:http");

/** Time limit for a connection to come about, TLS included. */
const connectMsMax = 10_000;
/** Statuses whose answers have no body, which `Response` checks. */
const bodiless = new Set([204, 205, 304]);

/** Headers that `fetch` adds, too. Answers are not decompressed, so they must not be compressed. */
const usualHeaders = {
  accept: "*/*",
  "accept-encoding": "identity",
  "user-agent": "outbound-calls",
};

/**
 * Agents that open a connection for each request. A provider may close a reused one just as it is used, which makes
 * the outcome unknown. TLS sessions are resumed.
 */
const agents = { http: new HttpAgent(), https: new HttpsAgent() };

/** Returns the options of connections that lead to public addresses only, which share nothing with others. */
function publicOptions(resolve?: Resolve) {
  return { agent: new HttpsAgent(), lookup: createPublicLookup(resolve) };
}

/**
 * Sends with Node's client, which for a connection per request takes a third of the CPU that `fetch` takes. It writes
 * the request once the connection is open and `mayLeave` agrees, as a process may be paused while it connects. If
 * there is no connection in time, the error's cause has the code CONNECT_TIMEOUT, and nothing has left.
 */
export const sendByNode: Send = createSendByNode();

/** @param resolve resolves the names of requests that go to public addresses only */
export function createSendByNode(resolve?: Resolve): Send {
  const toPublic = publicOptions(resolve);
  return async (url, request) => {
    const answer = await headOf(url, request, toPublic);
    try {
      return responseOf(answer);
    } catch (error) {
      answer.destroy();
      throw new TypeError("the answer is not HTTP", { cause: error });
    }
  };
}

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 0, headersDistinct } = answer;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const { ReadableStream } = process.getBuiltinModule("node:stream/web");
  const body = bodiless.has(status) ? null : ReadableStream.from<Uint8Array>(answer);
  if (body === null) answer.resume();
  return new Response(body, { status, headers });
}

/** Resolves to the answer once its headers have arrived. */
function headOf(
  url: string,
  { method, headers, body, signal, mayLeave, isPublicOnly = false }: OutgoingRequest,
  toPublic: ReturnType<typeof publicOptions>,
): Promise<IncomingMessage> {
  const isTls = url.startsWith("https:");
  // An address is never looked up.
  if (isPublicOnly && !(isTls && isPublicOrName(new URL(url).hostname))) {
    return Promise.reject(new TypeError("sending failed", { cause: notPublic() }));
  }
  const ofTls = isPublicOnly ? toPublic : { agent: agents.https };
  const options = { method, headers: { ...usualHeaders, ...headers }, signal };
  return new Promise((resolve, reject) => {
    const request = isTls
      ? requestHttps(url, { ...options, ...ofTls })
      : requestHttp(url, { ...options, agent: agents.http });
    let isConnected = false;
    const limit = setTimeout(() => request.destroy(timedOut()), connectMsMax);
    request.once("socket", (socket) => {
      socket.once(isTls ? "secureConnect" : "connect", () => {
        isConnected = true;
        clearTimeout(limit);
        if (mayLeave?.() === false) request.destroy(new Withheld("not any more"));
        else request.end(body);
      });
    });
    request.once("response", resolve);
    request.once("close", () => {
      clearTimeout(limit);
      reject(new TypeError("closed without an answer")); // as after an unwanted upgrade
    });
    request.on("error", (error) => {
      if (error instanceof Withheld) reject(error);
      else if (signal.aborted && isConnected) reject(signal.reason);
      else reject(new TypeError("sending failed", { cause: signal.aborted ? timedOut() : error }));
    });
  });
}

function timedOut(): Error {
  return Object.assign(new Error("no connection in time"), { code: "CONNECT_TIMEOUT" });
}
