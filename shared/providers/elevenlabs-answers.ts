import * as z from "../lib/zod.ts";
import { idText } from "./define-provider.ts";
import { optionalText } from "./provider-records.ts";
import type { DialOutcome } from "./provider.ts";
import { toSipOutcome } from "./sip-status.ts";

const id = () => z.nullish(idText);
const createdSchema = () =>
  z.object({ success: z.literal(true), conversation_id: id(), callSid: id(), sip_call_id: id() });

/** Returns the id of a placed call: the conversation's, or the carrier's. */
export function callIdIn(body: unknown): string | undefined {
  const { conversation_id, callSid, sip_call_id } =
    z.built(createdSchema).safeParse(body).data ?? {};
  return conversation_id ?? callSid ?? sip_call_id ?? undefined;
}

const failedSchema = () =>
  z.object({
    success: z.literal(false),
    message: z.catch(z.string(), ""),
    conversation_id: z.catch(id(), undefined),
  });

/** An error: `detail` is an object or a text, and an array where fields are not valid. */
const refusedSchema = () =>
  z.object({
    detail: z.union([
      z.object({ status: optionalText(), code: optionalText(), message: optionalText() }),
      z.array(z.object({ loc: z.catch(z.array(z.unknown()), []) })),
      z.string(),
    ]),
  });

/** Returns what a refusal is about: an agent, a number or its connection that is not there, or the call. */
function toRefusal(status: number, body: unknown): DialOutcome | undefined {
  const { detail } = z.built(refusedSchema).safeParse(body).data ?? {};
  const ofRoute = { kind: "route_refused", code: `http_${status}` } as const;
  if (detail === undefined) return undefined;
  // A SIP status says more than an HTTP status: the phone may have rung.
  const text = typeof detail === "string" || Array.isArray(detail) ? detail : detail.message;
  const outcome = typeof text === "string" ? outcomeOfText(text) : undefined;
  if (outcome !== undefined) return outcome;
  // The request names an agent and a calling number, and nothing else that could be missing.
  if (status === 404) return ofRoute;
  if (Array.isArray(detail)) {
    if (status !== 422) return undefined;
    const names = detail.flatMap(({ loc }) => loc);
    if (names.some((name) => routeFields.has(name))) return ofRoute;
    return names.includes("to_number")
      ? { kind: "rejected", code: "http_422", blamesNumber: true }
      : undefined;
  }
  if (status !== 400 || typeof detail === "string") return undefined;
  const code = "invalid_provider_config";
  return [detail.code, detail.status].includes(code) ? { ...ofRoute, code } : undefined;
}

const routeFields = new Set<unknown>(["agent_id", "agent_phone_number_id"]);

/** Returns the outcome of an answer if it differs from the status. */
export function exception(status: number, body: unknown): DialOutcome | undefined {
  const failed = status === 200 ? z.built(failedSchema).safeParse(body).data : undefined;
  if (failed === undefined) return toRefusal(status, body);
  const outcome = outcomeOfText(failed.message);
  if (outcome?.kind !== "placed") return outcome ?? { kind: "unknown", code: "success_false" };
  return { kind: "placed", providerCallId: failed.conversation_id ?? undefined };
}

/**
 * Reads the SIP status in a text of ElevenLabs. A phone that nobody answered in time has rung, and one whose call the
 * carrier blocks with 603 may have.
 */
export function outcomeOfText(text: string): DialOutcome | undefined {
  const word = sipWordIn(text);
  if (word === "sip_request_timed_out" || word === "carrier_blocked") return { kind: "placed" };
  if (word === undefined) return undefined;
  const outcome = toSipOutcome(word.slice("sip_".length));
  // Users have seen this text of a trunk whose address is wrong, with every number.
  return outcome.kind === "rejected" && /\bdomain unavailable\b/i.test(text)
    ? { kind: "rejected", code: outcome.code }
    : outcome;
}

/**
 * Reads the SIP status of an INVITE in a text of ElevenLabs, which passes LiveKit's texts on (livekit/sip, outbound.go):
 * `INVITE failed: sip status: 486: Busy here`, `unexpected status from INVITE response: sip status: 403` and, with a
 * carrier's 603 that no callee has declined by, `INVITE blocked by carrier: … sip status: 603`.
 */
export function sipWordIn(text: string): string | undefined {
  if (/\bINVITE blocked by carrier\b/i.test(text)) return "carrier_blocked";
  const status = /\bINVITE (?:failed|response): sip status:? (\d{3})\b/i.exec(text)?.[1];
  if (status !== undefined) return `sip_${status}`;
  // LiveKit's words for a phone that nobody answered in time (livekit/sip, errors.go).
  return /\bsip request timed out\b/i.test(text) ? "sip_request_timed_out" : undefined;
}
