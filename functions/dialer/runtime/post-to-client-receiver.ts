import {
  type ClientReceiverSecret,
  receiverKeysOf,
} from "#shared/dial-plan/client-receiver-secrets.ts";
import type { Send } from "#shared/lib/http-client.ts";
import { isLoopback } from "#shared/lib/https-url.ts";
import { findUrlProblem } from "#shared/lib/public-address.ts";
import { permitsLoopback } from "#shared/settings/loopback.ts";
import { readEventsKeys } from "#shared/settings/events-keys.ts";
import {
  answerBytesMax,
  answerSecondsMax,
  type EventAnswer,
  type PostedEvent,
  postSigned,
} from "./post-event.ts";

/** A client's own receiver: its address, and what its secret is derived from. */
interface ClientReceiverAddress extends ClientReceiverSecret {
  url: string;
}

/** Posts an event to a client's own receiver once. Never throws. */
export type PostToClientReceiver = (
  to: ClientReceiverAddress,
  event: PostedEvent,
) => Promise<EventAnswer>;

/**
 * Creates a function that posts events to clients' own receivers, signed with their derived secrets. It judges the URL at
 * every try, as a newer version may permit less than the one that stored it, and lets Node's client judge the address of
 * each connection.
 *
 * @throws if EVENTS_KEY is missing or malformed
 */
export function createPostToClientReceiver({
  environment,
  fetch: send,
  now,
}: {
  environment: Record<string, string | undefined>;
  fetch: Send;
  now(): number;
}): PostToClientReceiver {
  const eventsKeys = readEventsKeys(environment);
  const permits = { loopback: permitsLoopback(environment) };
  return async (to, event) => {
    const { url } = to;
    if (findUrlProblem(url, permits) !== undefined) return { error: "address_not_public" };
    const keys = receiverKeysOf(to, { eventsKeys, now: now() });
    const limits = { limitMs: answerSecondsMax * 1000, bytesMax: answerBytesMax };
    // Only a local run permits such a URL.
    const isPublicOnly = !isLoopback(url);
    return postSigned(event, { url, keys, ...limits, isPublicOnly }, { fetch: send, now });
  };
}
