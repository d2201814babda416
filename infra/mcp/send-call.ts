import { problemSchema } from "#shared/lib/problem.ts";
import { problemText } from "../cli/calls/client.ts";
import { Failure, Refusal } from "../cli/calls/failures.ts";
import { jsonIn } from "../cli/calls/json.ts";
import { createSend } from "../client/http.ts";
import type { Sent } from "./confirmations.ts";

/** Waits between the tries of a request, in milliseconds. */
const delaysMs = [1_000, 3_000];
/** Statuses below 500 of a gateway in front of the service, after which a request is repeated. */
const gatewayStatuses = new Set([408, 429]);

/** Time within which the service must have answered a try: with all tries and waits less than the minute of MCP clients. */
const answerMsMax = 10_000;

export interface SendingDeps {
  /** The service's address, without a slash at its end. */
  url: string;
  /** A client's token. */
  token: string;
  fetch(url: string, init: RequestInit): Promise<Response>;
  sleep(ms: number): Promise<void>;
}

/**
 * Sends one call, and repeats it under the same Idempotency-Key while no answer comes or the service fails.
 *
 * @param isRepeat true if it was sent before, and may have been accepted
 * @throws a Refusal if it was certainly not accepted, a Failure if nobody knows
 */
export async function sendCall(
  { body, key, isRepeat }: { body: string; key: string; isRepeat: boolean },
  deps: SendingDeps,
): Promise<Sent> {
  let failure = "";
  for (const [index, delayMs] of [...delaysMs, undefined].entries()) {
    try {
      const response = await post(body, key, deps);
      const { status, headers } = response;
      if (status === 201) {
        const isReplay = headers.get("idempotency-replayed") === "true";
        return { requestId: headers.get("x-request-id"), isReplay };
      }
      const problem = problemSchema.safeParse(jsonIn(await response.text())).data;
      failure = `${status} ${problem === undefined ? "without a problem" : problemText(problem)}`;
      if (status < 500 && !gatewayStatuses.has(status)) {
        if (status >= 400 && index === 0 && !isRepeat)
          throw new Refusal(`Nothing was placed: ${failure}`);
        break;
      }
    } catch (error) {
      if (error instanceof Refusal) throw error;
      failure = "none";
    }
    if (delayMs !== undefined) await deps.sleep(delayMs);
  }
  throw new Failure(
    `The call may have been accepted or not. The service's last answer: ${failure}. Send it again with the same confirmation: nobody is called twice.`,
  );
}

function post(body: string, key: string, { url, token, fetch }: SendingDeps): Promise<Response> {
  return createSend(fetch, answerMsMax)(`${url}/v1/calls`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body,
  });
}
