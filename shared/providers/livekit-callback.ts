/** Events of a LiveKit project's webhook. One of them reports the end of a call. */
import { hash } from "node:crypto";
import { withoutBom } from "../lib/without-bom.ts";
import * as z from "../lib/zod.ts";
import { createWords, resultOf, ringOutMsMin } from "./provider-records.ts";
import type { SignedCallback, CallbackReport } from "./provider.ts";

/**
 * Values of `DisconnectReason` (livekit/protocol, livekit_models.proto). A callee who was never connected has one of the
 * `USER_` reasons, so a callee with another reason had answered. Two reasons stand for many causes (livekit/sip,
 * errors.go): `USER_REJECTED` for a busy phone, one that declined, a number that does not exist and a trunk that refuses
 * us; `USER_UNAVAILABLE` for a phone that rang out, SIP 404, 410, 484, 402 and every other 4xx, and a trunk that keeps
 * silent. See `hasRungOut`. LiveKit has no attribute for the SIP status.
 */
const words = /* @__PURE__ */ createWords(
  ["completed", "CLIENT_INITIATED"],
  ["failed", "SIP_TRUNK_FAILURE"],
  [
    "unknown",
    "USER_UNAVAILABLE USER_REJECTED UNKNOWN_REASON DUPLICATE_IDENTITY SERVER_SHUTDOWN PARTICIPANT_REMOVED " +
      "ROOM_DELETED STATE_MISMATCH JOIN_FAILURE MIGRATION SIGNAL_CLOSE ROOM_CLOSED CONNECTION_TIMEOUT MEDIA_FAILURE " +
      "AGENT_ERROR",
  ],
);

/** A room is named by the call's id and the attempt. */
const roomPattern = /^(call_[0-9A-HJKMNP-TV-Z]{26}_\d{5})-(\d{1,6})$/;

/**
 * An event of a project's webhook (https://docs.livekit.io/home/server/webhooks). Times are in seconds unless their
 * name says otherwise.
 */
const eventSchema = () =>
  z.object({
    event: z.string(),
    room: z.nullish(z.object({ name: z.string() })),
    participant: z.nullish(
      z.object({
        identity: z.string(),
        disconnectReason: z.nullish(z.string()),
        attributes: z.nullish(z.record(z.string(), z.string())),
        /** Time at which the participant was made, just before the call was dialed. Zero: not set. */
        joinedAt: z.nullish(z.coerce.number()),
        joinedAtMs: z.nullish(z.coerce.number()),
      }),
    ),
    createdAt: z.nullish(z.coerce.number()),
  });

/**
 * Verifies an event of a project's webhook, a JWT under its API secret with the body's hash, and reads the result of
 * the callee who left the room.
 *
 * @param identity identity of the callee in a room
 */
export async function readLiveKitCallback(
  { body, headers, receivedAt }: SignedCallback,
  { apiKey, apiSecret }: { apiKey: string; apiSecret: Uint8Array },
  identity: string,
): Promise<CallbackReport> {
  const { jwtVerify } = await import("./jwt.ts");
  try {
    const { payload } = await jwtVerify(
      headers["authorization"]?.replace(/^Bearer /, "") ?? "",
      apiSecret,
      {
        issuer: apiKey,
        algorithms: ["HS256"],
        currentDate: new Date(receivedAt),
        clockTolerance: 60,
      },
    );
    if (payload["sha256"] !== hash("sha256", body, "base64")) return { kind: "unverified" };
    const { event, room, participant, createdAt } = z
      .built(eventSchema)
      .parse(JSON.parse(withoutBom(body)));
    const [, id, attempt] = roomPattern.exec(room?.name ?? "") ?? [];
    const isEnd = event === "participant_left" && participant?.identity === identity;
    if (!isEnd || id === undefined) return { kind: "other" };
    const endedAt = (createdAt ?? Number.NaN) * 1000;
    const result = resultOf(words, {
      word: participant.disconnectReason,
      isAnswered: participant.attributes?.["sip.callStatus"] === "active",
      hasRungOut: hasRungOut(participant, endedAt),
      endedAt,
    });
    return { kind: "reported", result, call: { id, attempt: Number(attempt) } };
  } catch {
    return { kind: "unverified" };
  }
}

type Participant = NonNullable<z.infer<ReturnType<typeof eventSchema>>["participant"]>;

/**
 * True if the phone of an unavailable callee rang until a side ended the attempt. `sip.callStatus` keeps its last value:
 * `dialing` if the carrier never said that the phone rings. Carriers say so for announcements, too, which are shorter.
 */
function hasRungOut(
  { disconnectReason, attributes, joinedAt, joinedAtMs }: Participant,
  endedAt: number,
): boolean {
  const status = attributes?.["sip.callStatus"] ?? "ringing";
  const dialedAt = joinedAtMs || (joinedAt ?? 0) * 1000;
  const isLong = dialedAt > 0 && endedAt - dialedAt >= ringOutMsMin;
  return disconnectReason === "USER_UNAVAILABLE" && status === "ringing" && isLong;
}
