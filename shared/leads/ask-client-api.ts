import { clientInPath } from "../calls/client-path.ts";
import type { Problem } from "../lib/problem.ts";

/** An answer of the service, as far as sending needs it. */
export interface ClientAnswer {
  status: number;
  text: string;
  /** Its `X-Request-Id`. */
  requestId: string | null;
  /** Its `Retry-After`. */
  retryAfter: string | null;
}

/** Posts JSON about a client's calls, to a path below that of the client. Rejects if no answer came. */
export type PostForClient = (
  path: string,
  body: string,
  headers?: Record<string, string>,
) => Promise<ClientAnswer>;

/** The surroundings of sending, replaced in tests. */
export interface SendingDeps {
  post: PostForClient;
  sleep(ms: number): Promise<void>;
  /** Throws if sending is to stop between two requests. */
  checkStopped?(): void;
}

/** A refusal of the service. Its message is for people. */
export class RefusedError extends Error {
  readonly status: number;
  readonly errors: NonNullable<Problem["errors"]>;
  /** True if the request was sent once: then nothing of it was accepted. */
  readonly isFirst: boolean;
  constructor(status: number, { detail, errors = [] }: Partial<Problem>, isFirst: boolean) {
    super(detail ?? `HTTP ${status}`);
    this.status = status;
    this.errors = errors;
    this.isFirst = isFirst;
  }
}

/** Waits between the tries of a request, in milliseconds, and the longest wait that an answer may ask for. */
const delaysMs = [1_000, 2_000, 5_000, 10_000, 30_000];
const retryAfterMsMax = 60_000;
/** Statuses below 500 of a gateway in front of the service, after which a request is repeated. */
const gatewayStatuses = new Set([408, 429]);

/**
 * Creates a function that sends an operator's requests about a client's calls.
 *
 * @param origin the service's address, without a slash at its end
 */
export function createPostForClient(
  { origin, token, client }: { origin: string; token: string; client: string },
  send: (url: string, init: RequestInit) => Promise<Response> = (url, init) => fetch(url, init),
): PostForClient {
  const name = clientInPath(client);
  return async (path, body, headers = {}) => {
    const response = await send(`${origin}/operator/clients/${name}${path}`, {
      method: "POST",
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
      },
      body,
      redirect: "error",
      signal: AbortSignal.timeout(60_000),
    });
    return {
      status: response.status,
      text: await response.text(),
      requestId: response.headers.get("x-request-id"),
      retryAfter: response.headers.get("retry-after"),
    };
  };
}

/**
 * Sends a request that may be repeated, and repeats it while no answer comes or the service fails.
 *
 * @throws RefusedError if the service refuses it, or fails each time
 */
export async function postRepeatedly(
  request: { path: string; body: string; headers?: Record<string, string> },
  { post, sleep, checkStopped }: SendingDeps,
): Promise<ClientAnswer> {
  let failure: Error = new Error("The service cannot be reached.");
  for (const [index, delayMs] of [...delaysMs, undefined].entries()) {
    checkStopped?.();
    let waitMs = delayMs ?? 0;
    try {
      const answer = await post(request.path, request.body, request.headers);
      if (answer.status >= 200 && answer.status < 300) return answer;
      failure = new RefusedError(answer.status, problemIn(answer.text), index === 0);
      if (answer.status < 500 && !gatewayStatuses.has(answer.status)) break;
      waitMs = Math.max(waitMs, Math.min(Number(answer.retryAfter) * 1000 || 0, retryAfterMsMax));
    } catch {
      failure = new Error("The service cannot be reached.");
    }
    if (delayMs !== undefined) await sleep(waitMs);
  }
  throw failure;
}

/** Asks a route below a client's path that may be repeated, and returns its answer. */
export async function askForClient<Answer>(
  path: string,
  body: object,
  deps: SendingDeps,
): Promise<Answer> {
  const { text } = await postRepeatedly({ path, body: JSON.stringify(body) }, deps);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The service gave an answer that is not JSON.");
  }
}

/** Reads a problem; nothing of an answer in the words of a gateway. */
function problemIn(text: string): Partial<Problem> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
