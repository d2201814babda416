import { AwsV4Signer } from "aws4fetch";

/**
 * Returns a request's headers with its AWS Signature Version 4. Importing aws4fetch has side effects, so it is
 * imported in this file only: a bundle that does not use this function leaves out both.
 *
 * @param now time of the signature in milliseconds since the epoch
 */
export async function signAwsRequest(
  request: { method: string; url: string; headers?: Record<string, string>; body?: string },
  account: {
    service: string;
    region: string;
    accessKeyId: string;
    secretAccessKey: string;
    sessionToken?: string;
  },
  now: number,
): Promise<Record<string, string>> {
  const signed = await new AwsV4Signer({
    ...request,
    ...account,
    datetime: new Date(now).toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
  }).sign();
  return Object.fromEntries(signed.headers);
}
