/** Events of a LiveKit project's webhook, of which one tells the end of a call. */
import { hash } from "node:crypto";
import { jwtVerify } from "jose";
import * as z from "../lib/zod.ts";
import { createWords, resultOf } from "./provider-records.ts";
import type { SignedCallback, ToldResult } from "./provider.ts";

/**
 * Values of `DisconnectReason` (livekit/protocol, livekit_models.proto). A callee who was never connected has one of
 * the `USER_` reasons, so that one who left was on the phone. The others tell nothing of an answer.
 */
const words = /* @__PURE__ */ createWords(
  ["completed", "CLIENT_INITIATED"],
  ["no_answer", "USER_UNAVAILABLE"],
  ["declined", "USER_REJECTED"],
  ["failed", "SIP_TRUNK_FAILURE"],
  [
    "unknown",
    "UNKNOWN_REASON DUPLICATE_IDENTITY SERVER_SHUTDOWN PARTICIPANT_REMOVED ROOM_DELETED STATE_MISMATCH " +
      "JOIN_FAILURE MIGRATION SIGNAL_CLOSE ROOM_CLOSED CONNECTION_TIMEOUT MEDIA_FAILURE AGENT_ERROR",
  ],
);

/** A room is named by the call's id and the attempt. */
const roomPattern = /^(call_[0-9A-HJKMNP-TV-Z]{26}_\d{5})-(\d{1,6})$/;

/** An event of a project's webhook (https://docs.livekit.io/home/server/webhooks). Times are in seconds. */
const eventSchema = () =>
  z.object({
    event: z.string(),
    room: z.nullish(z.object({ name: z.string() })),
    participant: z.nullish(
      z.object({
        identity: z.string(),
        disconnectReason: z.nullish(z.string()),
        attributes: z.nullish(z.record(z.string(), z.string())),
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
): Promise<ToldResult> {
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
    const { event, room, participant, createdAt } = z.built(eventSchema).parse(JSON.parse(body));
    const [, id, attempt] = roomPattern.exec(room?.name ?? "") ?? [];
    const isEnd = event === "participant_left" && participant?.identity === identity;
    if (!isEnd || id === undefined) return { kind: "other" };
    const result = resultOf(words, {
      word: participant.disconnectReason,
      isAnswered: participant.attributes?.["sip.callStatus"] === "active",
      endedAt: (createdAt ?? Number.NaN) * 1000,
    });
    return { kind: "told", result, call: { id, attempt: Number(attempt) } };
  } catch {
    return { kind: "unverified" };
  }
}
