import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { dayMs } from "../lib/units.ts";
import { type RotatedKeys, listKeys } from "../lib/rotated-keys.ts";

/** Time for which events are signed with the former secret too, after a rotation. */
export const formerSecretMs = dayMs;

/** A secret of a client's own receiver. It is derived and never stored. */
export interface ClientReceiverSecret {
  client: string;
  /** Name of the receiver, as its client chose it. */
  name: string;
  /**
   * Number of the secret: the time of the receiver's creation, and one more after each rotation. So a receiver that was
   * removed and created again has a new secret.
   */
  secretGeneration: number;
  /** Time of the last rotation. Absent: there was none. */
  rotatedAt?: number | undefined;
}

/**
 * Returns the secret as its client gets it: `whsec_` and 32 bytes in base64 (https://www.standardwebhooks.com).
 *
 * @param key the current EVENTS_KEY
 */
export function clientReceiverSecret(of: ClientReceiverSecret, key: string): string {
  return `whsec_${bytesOf(of, key).toString("base64")}`;
}

/**
 * Returns the keys that sign the events of a client's own receiver: the secret that its client got last, and for a day
 * after a rotation the former one. While EVENTS_KEY holds two keys, each signs under both: the secret that the client has
 * was derived from the EVENTS_KEY that was current when it was shown.
 */
export function receiverKeysOf(
  of: ClientReceiverSecret,
  { eventsKeys, now }: { eventsKeys: RotatedKeys; now: number },
): KeyObject[] {
  const { secretGeneration, rotatedAt } = of;
  const hasFormer = rotatedAt !== undefined && now < rotatedAt + formerSecretMs;
  const generations = hasFormer ? [secretGeneration, secretGeneration - 1] : [secretGeneration];
  return generations.flatMap((generation) =>
    listKeys(eventsKeys).map((key) =>
      createSecretKey(bytesOf({ ...of, secretGeneration: generation }, key)),
    ),
  );
}

function bytesOf({ client, name, secretGeneration }: ClientReceiverSecret, key: string): Buffer {
  const text = JSON.stringify(["receiver", client, name, secretGeneration]);
  return createHmac("sha256", key).update(text).digest();
}
