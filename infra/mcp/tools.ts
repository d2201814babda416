import { createAsk, urlIn } from "../cli/calls/client.ts";
import { Misuse } from "../cli/calls/failures.ts";
import { createConfirmations } from "./confirmations.ts";
import { createPlaceCall } from "./place-call.ts";
import { createReadTools } from "./read-tools.ts";
import type { SendingDeps } from "./send-call.ts";
import type { Tool } from "./tool.ts";

/** Time within which the service must have answered a tool: a tool asks at most twice, in less than the minute of MCP clients. */
const answerMsMax = 25_000;

export interface ToolsDeps extends Pick<SendingDeps, "fetch" | "sleep"> {
  environment: Record<string, string | undefined>;
  /** True if calls may be placed. */
  isWriting: boolean;
  /** Returns the current time in milliseconds since the epoch. */
  now(): number;
}

/**
 * Creates the tools that the tokens in the environment permit. With an operator's token the tools read as an operator.
 *
 * @throws a Misuse if a token that is needed is missing
 */
export function createTools({ environment, isWriting, ...deps }: ToolsDeps): Tool[] {
  const { OUTBOUND_CALLS_TOKEN: token, OUTBOUND_CALLS_OPERATOR_TOKEN: operatorToken } = environment;
  const url = urlIn(environment);
  const askWith = (base: string, ownToken: string | undefined) =>
    ownToken ? createAsk({ url, base, token: ownToken, answerMsMax }, deps.fetch) : undefined;
  const askAsOperator = askWith("/operator", operatorToken);
  const askAsClient = askWith("/v1", token);
  const tools =
    (askAsOperator && createReadTools("operator", askAsOperator)) ??
    (askAsClient && createReadTools("client", askAsClient));
  if (tools === undefined) {
    throw new Misuse("Neither OUTBOUND_CALLS_TOKEN nor OUTBOUND_CALLS_OPERATOR_TOKEN is set.");
  }
  if (!isWriting) return tools;
  if (!token || askAsClient === undefined || askAsOperator === undefined) {
    throw new Misuse(
      "--write needs OUTBOUND_CALLS_TOKEN, which places calls, and OUTBOUND_CALLS_OPERATOR_TOKEN, for their forecasts.",
    );
  }
  const confirmations = createConfirmations({ token, now: deps.now });
  const placeCall = createPlaceCall({
    ...deps,
    url,
    token,
    askAsClient,
    askAsOperator,
    confirmations,
  });
  return [...tools, placeCall];
}
