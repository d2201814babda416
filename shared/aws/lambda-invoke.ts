import type { Environment } from "../settings/settings.ts";
import { type AwsAccount, createSignedPost, endpointIn } from "./signed-post.ts";

const answerMsMax = 3_000;

/**
 * Returns a function that invokes the dispatcher's Lambda function without waiting for its end, once: the SDK's Lambda
 * client would add much more to the bundle. The request has no trace header: dispatcher
 * and dialer start each other, which Lambda would take for a recursive loop and stop
 * (https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html).
 *
 * @param payload the event, as JSON
 * @param options.variables DISPATCHER_FUNCTION; on a machine without an account also AWS_ENDPOINT_URL_LAMBDA
 */
export function createWake(
  payload: string,
  { account, variables }: { account: AwsAccount; variables: Environment },
): () => Promise<void> {
  const name = encodeURIComponent(variables["DISPATCHER_FUNCTION"] ?? "");
  const endpoint = endpointIn(variables, "LAMBDA");
  const post = createSignedPost("lambda", { account, endpoint, answerMsMax });
  return async () => {
    const { status } = await post(`/2015-03-31/functions/${name}/invocations`, payload, {
      "x-amz-invocation-type": "Event",
    });
    if (status !== 202) throw new Error(`the dispatcher's function answered ${status}`);
  };
}
