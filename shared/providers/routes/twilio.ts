import type { CallRequest } from "../../calls/call.ts";
import { isE164 } from "../../numbering/phone-number.ts";
import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z
    .strictObject({
      ...routeFields,
      type: z.literal("twilio"),
      baseUrl: z.optional(httpsUrl),
      /** The calling number, bought from Twilio or verified there. */
      from: z.string().check(z.refine(isE164, "must be an E.164 number")),
      /** Target of the call's audio: a WebSocket of the user's own. */
      stream: z.optional(
        z.url({ protocol: /^wss$/, error: "must be a wss:// URL" }).check(
          z.maxLength(500, "must be at most 500 characters"),
          z.refine((url) => !/[?#@]/.test(url), "must not have a query, a fragment or a user"),
        ),
      ),
      /** URL from which Twilio fetches TwiML once the call is answered, instead of a stream. */
      answerUrl: z.optional(
        z
          .url({ protocol: /^https$/, error: "must be an https URL" })
          .check(z.maxLength(500, "must be at most 500 characters")),
      ),
      /** SID of an API key that replaces the account's auth token. */
      apiKey: z.optional(z.string().check(z.regex(/^SK\w+$/, "must be the SID of an API key"))),
      /** `MachineDetection`. Twilio gives the result to the URL that it fetches once the call is answered. */
      machineDetection: z.optional(z.enum(["Enable", "DetectMessageEnd"])),
      /** `Timeout`: longest time for which the phone rings. Twilio may add 5 s. */
      ringSeconds: z.optional(z.int().check(z.minimum(1), z.maximum(600))),
      /** `CallReason`, which a branded call shows (limits: Twilio error 32115). */
      callReason: z.optional(
        z.string().check(z.regex(/^[ -~]{1,50}$/, "must be 1 to 50 printable ASCII characters")),
      ),
    })
    .check(
      z.refine(({ stream, answerUrl }) => (stream === undefined) !== (answerUrl === undefined), {
        error: "must have either stream or answerUrl",
      }),
    ),
);

export type TwilioRoute = z.infer<typeof routeSchema>;

/** Maximum length of `Twiml` (Twilio error 32018). */
const twimlCharactersMax = 4000;

/** Limit that name and value of a `<Parameter>` together must stay below (Twilio's reference of `<Stream>`). */
const parameterCharactersMax = 500;

/** Our own parameters, beside the context's. */
const ownParameters = new Set(["call_id", "agent_id"]);

/** Characters that no XML document can hold, escaped or not (XML 1.0, section 2.2). */
// oxlint-disable-next-line no-control-regex -- control characters are the ones to find
const notInXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Routes of Twilio, as a dial plan has them. */
export const twilioRoutes: ProviderType<TwilioRoute> = {
  name: "twilio",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["ACCOUNT_SID", "AUTH_TOKEN"],
  contextProblem,
};

/** Composes the TwiML that connects an answered call with a stream. */
export function twimlOf(
  id: string,
  { agent_id, context = {} }: CallRequest,
  stream: string,
): string {
  const parameters = Object.entries({ ...context, call_id: id, agent_id }).map(
    ([name, value]) => `<Parameter name="${xmlText(name)}" value="${xmlText(value)}"/>`,
  );
  const inner = `<Stream url="${xmlText(stream)}">${parameters.join("")}</Stream>`;
  return `<Response><Connect>${inner}</Connect></Response>`;
}

/**
 * Escapes text for an attribute. Bare tabs and line breaks, also those that only XML 1.1 knows, would be read
 * as spaces (XML 1.0, section 3.3.3; XML 1.1, section 2.11).
 */
function xmlText(text: string): string {
  return text.replaceAll(
    /[&<>"'\t\n\r\u0085\u2028]/g,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}

function contextProblem(request: CallRequest, { stream }: TwilioRoute): string | undefined {
  const context = Object.entries(request.context ?? {});
  if (context.length === 0) return undefined;
  if (stream === undefined) return "must be empty: this agent's answerUrl cannot carry it";
  for (const [name, value] of context) {
    if (name === "") return "must not have an empty key, for Twilio";
    if (ownParameters.has(name)) return `must not have the key ${name}, which is the call's own`;
    if (notInXml.test(name + value)) {
      return "must not have control characters, which Twilio cannot carry";
    }
    if (name.length + value.length >= parameterCharactersMax) {
      return `must have keys and values of less than ${parameterCharactersMax} characters together, each, for Twilio`;
    }
  }
  const twiml = twimlOf(`call_${"0".repeat(32)}`, request, stream);
  return twiml.length > twimlCharactersMax
    ? `is too large for Twilio: ${twiml.length} characters as TwiML, at most ${twimlCharactersMax}`
    : undefined;
}
