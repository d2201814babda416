import { Webhook, WebhookVerificationError } from "standardwebhooks";
import type { webhooks } from "./generated/openapi.ts";

type Body = {
  [Type in keyof webhooks]: webhooks[Type]["post"]["requestBody"]["content"]["application/json"];
}[keyof webhooks];

/** The event that `receivers.test` sends. */
interface TestEvent {
  type: "receiver.test";
  timestamp: string;
  data: Record<string, unknown>;
}

/** An event of a type that a later version of the service has added. Answer it 2xx, or it is sent again for days. */
export interface UnknownEvent {
  type: "unknown";
  /** The type as it was sent. */
  sentType: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/**
 * An event, told apart by its `type`. `id` is its `webhook-id`, the same on every try: drop an event whose id you have
 * handled. Later versions of the service may add types, which come as `unknown`, and fields, which are left as they are.
 */
export type OutboundCallsEvent = (Body | TestEvent | UnknownEvent) & { id: string };

/** Types of events that this version knows. */
const knownTypes: Record<keyof webhooks | "receiver.test", true> = {
  "call.placed": true,
  "call.answered": true,
  "call.ended": true,
  "call.rejected": true,
  "call.expired": true,
  "call.cancelled": true,
  "call.needs_review": true,
  "call.reviewed": true,
  "call.opt_out": true,
  "call.call_back": true,
  "request.finished": true,
  "receiver.test": true,
};

/** Headers of a request, as `fetch`, Node or a framework has them. Names in any case. */
export type EventHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies the signature of an event in constant time, and that it was sent within the last five minutes.
 *
 * @param body the body as it came, byte for byte: JSON that was parsed and written again does not verify
 * @param secrets the receiver's secret: `whsec_` and base64; while it is rotated, the new one and the former
 * @throws if it is forged, changed or old, or a secret is malformed: answer 401. What is not answered 2xx is sent again
 */
export function verifyEvent(
  headers: EventHeaders,
  body: string,
  secrets: string | readonly string[],
): OutboundCallsEvent {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const texts = entries.map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const byName: Record<string, string> = Object.fromEntries(texts);
  const event: unknown = verifyByAny({ body, headers: byName }, secrets);
  const id = byName["webhook-id"] ?? "";
  const { type }: { type?: unknown } = Object(event);
  if (typeof type === "string" && Object.hasOwn(knownTypes, type)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the service has signed it
    return { ...(event as Body | TestEvent), id };
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- and this, too
  return { ...(event as UnknownEvent), type: "unknown", sentType: String(type), id };
}

interface Signed {
  body: string;
  headers: Record<string, string>;
}

/** Returns the JSON that one of the secrets has signed. A malformed secret throws, also beside a right one. */
function verifyByAny({ body, headers }: Signed, secrets: string | readonly string[]): unknown {
  const all = [secrets].flat().flatMap((text: string) => text.split(","));
  let failure: unknown = new RangeError("secrets of verifyEvent must hold a secret.");
  for (const webhook of all.map((secret) => new Webhook(secret))) {
    try {
      return webhook.verify(body, headers);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      failure = error;
    }
  }
  throw failure;
}
