import { type Problem, problemSchema } from "#shared/lib/problem.ts";
import { answerMsMax, createSend, requireAddress } from "#infra/client/http.ts";
import { Failure, Misuse, Refusal } from "./failures.ts";
import { jsonIn } from "./json.ts";
import type { Terminal } from "./terminal.ts";

/** Creates a client of the operator's API. */
export function createClient({ environment, fetch }: Pick<Terminal, "environment" | "fetch">) {
  const url = urlIn(environment);
  return createAsk({ url, base: "/operator", token: tokenIn(environment) }, fetch);
}

/** Returns the operator's token. @throws a Misuse if it is not set */
export function tokenIn({ OUTBOUND_CALLS_OPERATOR_TOKEN: token }: Terminal["environment"]): string {
  if (!token) throw new Misuse("OUTBOUND_CALLS_OPERATOR_TOKEN is not set.");
  return token;
}

/** Returns the service's address. @throws a Misuse if it is not set to a URL that may be sent a token */
export function urlIn({ OUTBOUND_CALLS_URL: url }: Terminal["environment"]): string {
  if (!url || !URL.canParse(url)) throw new Misuse("OUTBOUND_CALLS_URL is not set to a URL.");
  try {
    return requireAddress(url);
  } catch (error) {
    throw new Misuse(`OUTBOUND_CALLS_URL: ${error instanceof Error ? error.message : ""}`, {
      cause: error,
    });
  }
}

/** The part of the service that is asked, and how long its answer may take. */
interface Service {
  url: string;
  /** Path above all that are asked for, such as `/operator`. */
  base: string;
  token: string;
  /** Default: that of all requests to the service. */
  answerMsMax?: number;
}

/** A path below the base, which is asked by GET, or by POST with a body; another method is named. */
type Asked = string | { method: "PUT" | "DELETE"; path: string };

/**
 * Creates a function that asks the service. Its callers name the type of the answer, which the route declares.
 *
 * It throws a Refusal if the service refuses, and a Failure if it fails or does not answer.
 */
export function createAsk(service: Service, fetch: Terminal["fetch"]) {
  const { url, base, token, answerMsMax: msMax = answerMsMax } = service;
  const send = createSend(fetch, msMax);
  return async <Answer extends object>(asked: Asked, body?: object): Promise<Answer> => {
    const isAction = body !== undefined || typeof asked !== "string";
    const { method, path } =
      typeof asked === "string" ? { method: isAction ? "POST" : "GET", path: asked } : asked;
    const request = {
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    let response: Response;
    let text: string;
    try {
      response = await send(`${url}${base}${path}`, request);
      text = await response.text();
    } catch (error) {
      throw new Failure(unansweredText({ url, msMax }, error, isAction), { cause: error });
    }
    const answer = jsonIn(text);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API answers as its routes declare
    if (response.ok && answer !== undefined) return answer as Answer;
    // A gateway in front answers in its own words: this is a failure, whatever its status.
    const problem = problemSchema.safeParse(answer).data;
    if (problem === undefined) {
      throw new Failure(`${url} answered ${response.status}, and not as this service does.`);
    }
    const message = `${response.status} ${problemText(problem)}`;
    if ([403, 404, 409, 422].includes(response.status)) throw new Refusal(message);
    throw new Failure(message);
  };
}
export type Client = ReturnType<typeof createClient>;

/** Describes a problem: its detail, and a line for each error with its place. */
export function problemText({ detail, errors = [] }: Problem): string {
  const lines = errors.map(
    ({ pointer, parameter, header, detail: why }) => `\n  ${pointer ?? parameter ?? header} ${why}`,
  );
  return `${detail}${lines.join("")}`;
}

function unansweredText(
  { url, msMax }: { url: string; msMax: number },
  error: unknown,
  isAction: boolean,
): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    const perhaps = isAction ? " It may have done what was asked." : "";
    return `${url} has not answered within ${msMax / 1000} s.${perhaps}`;
  }
  return `${url} cannot be reached: ${cause instanceof Error ? cause.message : "no answer"}`;
}
