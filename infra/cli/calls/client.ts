import { problemSchema } from "../../../functions/api/http/problem-schema.ts";
import { Failure, Misuse, Refusal } from "./failures.ts";
import { jsonIn } from "./json.ts";
import type { Terminal } from "./terminal.ts";

/** Time within which the service must have answered: a large forecast takes some seconds. */
const answerMsMax = 120_000;

/** Creates a client of the operator's API. Its callers name the type of the answer, which the route declares. */
export function createClient({ environment, fetch }: Terminal) {
  const { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_OPERATOR_TOKEN: token } = environment;
  if (!url || !URL.canParse(url)) throw new Misuse("OUTBOUND_CALLS_URL is not set to a URL.");
  if (!token) throw new Misuse("OUTBOUND_CALLS_OPERATOR_TOKEN is not set.");
  return async <Answer extends object>(path: string, body?: object): Promise<Answer> => {
    const request = {
      signal: AbortSignal.timeout(answerMsMax),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    };
    const address = `${url.replace(/\/+$/, "")}/operator${path}`;
    let response: Response;
    let text: string;
    try {
      response = await fetch(address, request);
      text = await response.text();
    } catch (error) {
      throw new Failure(unansweredText(url, error, body !== undefined), { cause: error });
    }
    const answer = jsonIn(text);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API answers as its routes declare
    if (response.ok && answer !== undefined) return answer as Answer;
    // A gateway in front answers in its own words: this is a failure, whatever its status.
    const problem = problemSchema.safeParse(answer).data;
    if (problem === undefined) {
      throw new Failure(`${url} answered ${response.status}, and not as this service does.`);
    }
    const { detail, errors = [] } = problem;
    const lines = errors.map(
      ({ pointer, parameter, header, detail: why }) =>
        `\n  ${pointer ?? parameter ?? header} ${why}`,
    );
    const message = `${response.status} ${detail}${lines.join("")}`;
    if ([403, 404, 409, 422].includes(response.status)) throw new Refusal(message);
    throw new Failure(message);
  };
}
export type Client = ReturnType<typeof createClient>;

function unansweredText(url: string, error: unknown, isAction: boolean): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    const perhaps = isAction ? " It may have done what was asked." : "";
    return `${url} has not answered within ${answerMsMax / 1000} s.${perhaps}`;
  }
  return `${url} cannot be reached: ${cause instanceof Error ? cause.message : "no answer"}`;
}
