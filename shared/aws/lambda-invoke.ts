import { AwsClient } from "aws4fetch";
import type { Environment } from "../settings/settings.ts";

const timeLimitMs = 3_000;

/**
 * Returns a function that invokes the dispatcher's Lambda function without waiting for its end. aws4fetch signs the
 * request, as the SDK's Lambda client would add much more to the bundle. The request has no trace header: dispatcher
 * and dialer start each other, which Lambda would take for a recursive loop and stop
 * (https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html).
 *
 * @param variables DISPATCHER_FUNCTION, and the region and credentials that Lambda puts into the environment; on a
 * machine without an account also AWS_ENDPOINT_URL_LAMBDA
 * @param payload the event, as JSON
 */
export function createWake(variables: Environment, payload: string): () => Promise<void> {
  const {
    DISPATCHER_FUNCTION: name = "",
    AWS_REGION: region = "",
    AWS_ENDPOINT_URL_LAMBDA: endpoint = `https://lambda.${region}.amazonaws.com`,
  } = variables;
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = variables;
    const client = new AwsClient({
      accessKeyId: AWS_ACCESS_KEY_ID ?? "",
      secretAccessKey: AWS_SECRET_ACCESS_KEY ?? "",
      ...(AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: AWS_SESSION_TOKEN }),
      service: "lambda",
      region,
      retries: 0,
    });
    const response = await client.fetch(
      `${endpoint}/2015-03-31/functions/${encodeURIComponent(name)}/invocations`,
      {
        method: "POST",
        headers: { "x-amz-invocation-type": "Event" },
        body: payload,
        signal: AbortSignal.timeout(timeLimitMs),
      },
    );
    if (response.status !== 202)
      throw new Error(`the dispatcher's function answered ${response.status}`);
  };
}
