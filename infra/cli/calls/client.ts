import { Failure, Refusal } from "./failures.ts";
import { type Json, jsonIn, listIn, textOf } from "./json.ts";
import type { Terminal } from "./terminal.ts";

/** Creates a client of the operator's API. */
export function createClient({ environment, fetch }: Terminal) {
  const { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_OPERATOR_TOKEN: token } = environment;
  if (!url || !URL.canParse(url)) throw new Failure("OUTBOUND_CALLS_URL is not set to a URL.");
  if (!token) throw new Failure("OUTBOUND_CALLS_OPERATOR_TOKEN is not set.");
  return async (path: string, body?: object): Promise<Json> => {
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
    if (response.ok && answer !== undefined) return answer;
    const errors = listIn(answer, "errors").map(
      (error) => `\n  ${textOf(error["pointer"])} ${textOf(error["detail"])}`,
    );
    const detail = textOf(answer?.["detail"]);
    const message = `${response.status} ${detail}${errors.join("")}`.trim();
    const isRefused = response.status === 404 || response.status === 409 || response.status === 422;
    if (isRefused && answer !== undefined) throw new Refusal(message);
    throw new Failure(message);
  };
}
export type Client = ReturnType<typeof createClient>;
