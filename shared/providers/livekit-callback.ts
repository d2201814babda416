/** Events of a LiveKit project's webhook. One of them reports the end of a call. */
import { hash } from "node:crypto";
import { jwtVerify } from "jose";
import * as z from "../lib/zod.ts";
import { createWords, resultOf } from "./provider-records.ts";
import type { SignedCallback, ToldResult } from "./provider.ts";

/**
 * Values of `DisconnectReason` (livekit/protocol, livekit_models.proto), and SIP statuses of the callee's side. A
 * callee who was never connected has one of the `USER_` reasons, so a callee with another reason had answered.
 * `USER_REJECTED` also stands for a busy phone, a number that does not exist and a trunk that refuses us
 * (livekit/sip, errors.go), so it tells nothing. Nor do the reasons that are not listed here.
 */
const words = /* @__PURE__ */ createWords(
  ["completed", "CLIENT_INITIATED"],
  ["no_answer", "USER_UNAVAILABLE sip_408 sip_480 sip_487"],
  ["busy", "sip_486 sip_600"],
  ["declined", "sip_603"],
  ["invalid", "sip_404 sip_410 sip_484 sip_604"],
  ["blocked", "sip_403 sip_607 sip_608"],
  ["failed", "SIP_TRUNK_FAILURE sip_401 sip_402 sip_407"],
  [
    "unknown",
    "USER_REJECTED UNKNOWN_REASON DUPLICATE_IDENTITY SERVER_SHUTDOWN PARTICIPANT_REMOVED ROOM_DELETED STATE_MISMATCH " +
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
    const { disconnectReason, attributes } = participant;
    const isAnswered = attributes?.["sip.callStatus"] === "active";
    // Users have reported this attribute. LiveKit's reference has none for the status.
    const sip = `sip_${attributes?.["sip.callStatusCode"] ?? ""}`;
    const saysMore = !isAnswered && disconnectReason !== "CLIENT_INITIATED" && words.has(sip);
    const result = resultOf(words, {
      word: saysMore ? sip : disconnectReason,
      isAnswered,
      endedAt: (createdAt ?? Number.NaN) * 1000,
    });
    return { kind: "told", result, call: { id, attempt: Number(attempt) } };
  } catch {
    return { kind: "unverified" };
  }
}
