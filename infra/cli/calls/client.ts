import { problemSchema } from "../../../functions/api/http/problem-schema.ts";
import { Failure, Misuse, Refusal } from "./failures.ts";
import { jsonIn } from "./json.ts";
import type { Terminal } from "./terminal.ts";

/** Creates a client of the operator's API. Its callers name the type of the answer, which the route declares. */
export function createClient({ environment, fetch }: Terminal) {
  const { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_OPERATOR_TOKEN: token } = environment;
  if (!url || !URL.canParse(url)) throw new Misuse("OUTBOUND_CALLS_URL is not set to a URL.");
  if (!token) throw new Misuse("OUTBOUND_CALLS_OPERATOR_TOKEN is not set.");
  return async <Answer extends object>(path: string, body?: object): Promise<Answer> => {
    const request = {
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
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const why = cause instanceof Error ? cause.message : "no answer";
      throw new Failure(`${url} cannot be reached: ${why}`, { cause: error });
    }
    const answer = jsonIn(text);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API answers as its routes declare
    if (response.ok && answer !== undefined) return answer as Answer;
    // A gateway in front answers in its own words: this is a failure, whatever its status.
    const problem = problemSchema.safeParse(answer).data;
    if (problem === undefined) throw new Failure(String(response.status));
    const { detail, errors = [] } = problem;
    const lines = errors.map(
      ({ pointer, parameter, header, detail: why }) =>
        `\n  ${pointer ?? parameter ?? header} ${why}`,
    );
    const message = `${response.status} ${detail}${lines.join("")}`;
    if ([404, 409, 422].includes(response.status)) throw new Refusal(message);
    throw new Failure(message);
  };
}
export type Client = ReturnType<typeof createClient>;
