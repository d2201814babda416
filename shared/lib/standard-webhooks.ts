import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";

/** Maximum age of a signature in seconds, in both directions. */
const ageSecondsMax = 300;

/**
 * Decodes a secret of Standard Webhooks (https://www.standardwebhooks.com): `whsec_` and 24 to 64 bytes in base64.
 *
 * @param what names the secret in the error, which never quotes it
 */
export function parseSigningKey(secret: string, what: string): KeyObject {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  if (!secret.startsWith("whsec_") || key.length < 24 || key.length > 64) {
    throw new Error(`${what} must be whsec_ and 24 to 64 bytes in base64`);
  }
  return createSecretKey(key); // parsed once: a Buffer would be parsed for each signature
}

/** Decodes one secret, or two separated by a comma during a rotation. @throws as `parseSigningKey` does */
export function parseSigningKeys(secrets: string, what: string): KeyObject[] {
  return secrets.split(",").map((secret) => parseSigningKey(secret, what));
}

/**
 * Returns the headers that sign a message with each key: two during a rotation. Without a key the headers hold only
 * the message's id and time.
 *
 * @param signing.now milliseconds since the epoch
 */
export function createSignatureHeaders(
  { id, body }: { id: string; body: string },
  { keys, now }: { keys: readonly KeyObject[]; now: number },
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp };
  if (keys.length === 0) return headers;
  const signatures = keys.map(
    (key) => `v1,${computeMac(key, { id, timestamp, body }).toString("base64")}`,
  );
  return { ...headers, "webhook-signature": signatures.join(" ") };
}

/** The header because of which a message cannot be verified, and what the header must be. */
export interface SignatureProblem {
  header: string;
  detail: string;
}

/** Returns the problem unless one of a message's signatures is by this key and at most five minutes from the receipt. */
export function findSignatureProblem(
  key: KeyObject,
  {
    body,
    headers,
    receivedAt,
  }: { body: string; headers: Record<string, string>; receivedAt: number },
): SignatureProblem | undefined {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d{1,12}$/.test(timestamp)) return wrongTimestamp;
  if (Math.abs(receivedAt / 1000 - Number(timestamp)) > ageSecondsMax) return wrongTimestamp;
  const right = computeMac(key, { id, timestamp, body });
  const isSigned = (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const [version, text = ""] = one.split(",", 2);
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === right.length && timingSafeEqual(given, right);
  });
  return isSigned ? undefined : wrongSignature;
}

const wrongTimestamp: SignatureProblem = {
  header: "webhook-timestamp",
  detail: "must be seconds since the epoch, at most five minutes from now",
};
const wrongSignature: SignatureProblem = {
  header: "webhook-signature",
  detail: "must be v1, and the HMAC-SHA256 of id.timestamp.body in base64, by the shared secret",
};

function computeMac(
  key: KeyObject,
  { id, timestamp, body }: { id: string; timestamp: string; body: string },
): Buffer {
  return createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
}
