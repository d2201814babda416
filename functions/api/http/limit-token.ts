import type { Context } from "hono";
import { withTimeLimit } from "#shared/lib/retry.ts";
import type { ApiDeps, ApiEnv } from "./context.ts";
import { answerProblem } from "./problem.ts";

const answerSecondsMax = 1;
/** Seconds after which a refused client is to send its request again. */
const retrySeconds = 10;

/**
 * Returns the answer 503 to a request above its token's limit. If the limit cannot be asked, the request passes: the
 * limit protects other clients, and decides nothing about a call.
 */
export async function refuseAboveLimit(
  c: Context<ApiEnv>,
  tokenId: string,
  { tokenLimit, log }: { tokenLimit: NonNullable<ApiDeps["tokenLimit"]> } & Pick<ApiDeps, "log">,
): Promise<Response | undefined> {
  if (await withTimeLimit(tokenLimit(tokenId), answerSecondsMax).catch(() => true))
    return undefined;
  log("warning", "token.limited", { token_id: tokenId });
  const detail = "The token sends too many requests. Nothing was accepted: send the request again.";
  return answerProblem(c, 503, { detail, headers: { "retry-after": String(retrySeconds) } });
}
