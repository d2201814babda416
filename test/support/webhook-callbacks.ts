import type { ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import type { Received } from "./receiver.ts";

/** A call as it was posted to a webhook. */
export interface ReceivedCall {
  id: string;
  phone_number: string;
  callback_url: string;
}

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`;
/** The secret that the service and its webhook share. */
export const sharedSecret = secretOf(7);
/** The secret of somebody who has seen an address. */
export const otherSecret = secretOf(8);

/**
 * Returns a received call whose signature the library of Standard Webhooks verifies; undefined if it does not, and
 * answers 401.
 */
export function verifiedCall(
  { text, headers }: Received,
  response: ServerResponse,
): ReceivedCall | undefined {
  try {
    return Object(new Webhook(sharedSecret).verify(text, Object(headers)));
  } catch {
    response.writeHead(401).end();
    return undefined;
  }
}

/**
 * Posts a result to a call's address, signed by the library, and resolves to the status of the answer.
 *
 * @param changes another secret, the id of another call, or a time other than now in milliseconds since the epoch
 */
export async function callBack(
  { id, callback_url }: Pick<ReceivedCall, "id" | "callback_url">,
  result: object,
  { secret = sharedSecret, of = id, at = Date.now() } = {},
): Promise<number> {
  const body = JSON.stringify(result);
  const headers = {
    "webhook-id": of,
    "webhook-timestamp": String(Math.floor(at / 1000)),
    "webhook-signature": new Webhook(secret).sign(of, new Date(at), body),
  };
  const response = await fetch(callback_url, { method: "POST", headers, body });
  await response.arrayBuffer();
  return response.status;
}

/** Posts wrong callbacks of a call, each of which would change what is reported of it. Resolves to their statuses. */
export function forgeCallbacks(call: ReceivedCall, other: string, result: object) {
  const minutesMs = 60_000;
  const now = Date.now();
  return Promise.all([
    callBack(call, result, { secret: otherSecret }),
    callBack(call, result, { of: other }),
    callBack(call, result, { at: now - 6 * minutesMs }),
    callBack(call, result, { at: now + 6 * minutesMs }),
    callBack(call, { ...result, seconds: -5 }),
    callBack(call, { ...result, ended_at: new Date(now + 60 * minutesMs).toISOString() }),
  ]);
}

/** The answers to `forgeCallbacks`. */
export const forgedStatuses = [401, 401, 401, 401, 422, 422];
