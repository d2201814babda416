import { Webhook } from "standardwebhooks";
import type { webhooks } from "./generated/openapi.ts";

type Body = {
  [Type in keyof webhooks]: webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
}[keyof webhooks];

/**
 * An event, told apart by its `type`. `id` is its `webhook-id`, the same on every try: drop an event whose id you have
 * handled. Later versions of the service may add types and fields: ignore those that you do not know.
 */
export type OutboundCallsEvent = Body & { id: string };

/** Headers of a request, as `fetch`, Node or a framework has them. Names in any case. */
export type EventHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies the signature of an event in constant time, and that it was sent within the last five minutes.
 *
 * @param body the body as it came, byte for byte: JSON that was parsed and written anew does not verify
 * @param secret the receiver's secret: `whsec_` and base64
 * @throws if it is forged, changed or old, or the secret is malformed: answer 401. What is not answered 2xx is sent again
 */
export function verifyEvent(
  headers: EventHeaders,
  body: string,
  secret: string,
): OutboundCallsEvent {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const texts = entries.map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const byName: Record<string, string> = Object.fromEntries(texts);
  const event: unknown = new Webhook(secret).verify(body, byName);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the service has signed it
  return { ...(event as Body), id: byName["webhook-id"] ?? "" };
}
