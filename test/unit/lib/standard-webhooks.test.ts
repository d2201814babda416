import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import {
  findSignatureProblem,
  createSignatureHeaders,
  parseSigningKey,
  parseSigningKeys,
} from "#shared/lib/standard-webhooks.ts";
import { anyCharacter } from "#test/support/any-character.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const secret = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`);
const twoSecrets = fc.uniqueArray(secret, { minLength: 2, maxLength: 2 });
const id = fc.stringMatching(/^[!-~]{1,64}$/);
/** Any text, with surrogates that stand alone among it. */
const body = fc.string({ unit: anyCharacter, maxLength: 300 });
const isSignedBy = (...parts: Parameters<typeof findSignatureProblem>) =>
  findSignatureProblem(...parts) === undefined;
const keyOf = (one: string) => parseSigningKey(one, "EVENTS_SECRET");
const anyKey = keyOf(`whsec_${Buffer.alloc(32, 7).toString("base64")}`);

/** True if the library of Standard Webhooks verifies a message that is received now. */
function isVerified(one: string, text: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(one).verify(text, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

describe("signing by Standard Webhooks", () => {
  it("is verified by the library, by each of two secrets and no other", inSlowTier, () => {
    fc.assert(
      fc.property(twoSecrets, secret, id, body, (own, other, name, text) => {
        fc.pre(!own.includes(other));
        const headers = createSignatureHeaders(
          { id: name, body: text },
          { keys: own.map(keyOf), now: Date.now() },
        );
        for (const one of own) {
          expect(isVerified(one, text, headers)).toBe(true);
          expect(isSignedBy(keyOf(one), { body: text, headers, receivedAt: Date.now() })).toBe(
            true,
          );
        }
        expect(isVerified(other, text, headers)).toBe(false);
        expect(isSignedBy(keyOf(other), { body: text, headers, receivedAt: Date.now() })).toBe(
          false,
        );
      }),
    );
  });

  it("verifies what the library signs, also beside the signature of another secret", () => {
    fc.assert(
      fc.property(
        twoSecrets,
        id,
        body,
        fc.boolean(),
        ([own = "", other = ""], name, text, both) => {
          const now = new Date();
          const sign = (one: string) => new Webhook(one).sign(name, now, text);
          const signature = both ? `${sign(other)} ${sign(own)}` : sign(own);
          const headers = {
            "webhook-id": name,
            "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
            "webhook-signature": signature,
          };
          const signed = { body: text, headers, receivedAt: now.getTime() };
          expect(isSignedBy(keyOf(own), signed)).toBe(true);
          expect(isSignedBy(keyOf(other), signed)).toBe(both);
        },
      ),
    );
  });

  it("verifies nothing once the id, the time, the body or the signature is another", () => {
    const part = fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "body");
    fc.assert(
      fc.property(secret, id, body, part, fc.nat(63), (own, name, text, changed, place) => {
        const now = Date.now();
        const headers = createSignatureHeaders(
          { id: name, body: text },
          { keys: [keyOf(own)], now },
        );
        const signature = headers["webhook-signature"] ?? "";
        // A character of the signature, behind `v1,`, whose bits all count.
        const at = 3 + (place % 42);
        const other = signature[at] === "A" ? "B" : "A";
        const forged: Record<string, string> = {
          "webhook-id": `${name}x`,
          "webhook-timestamp": String(Math.floor(now / 1000) - 1),
          "webhook-signature": `${signature.slice(0, at)}${other}${signature.slice(at + 1)}`,
        };
        const received = { ...headers, [changed]: forged[changed] ?? "" };
        const sent = changed === "body" ? `${text} ` : text;
        expect(isSignedBy(keyOf(own), { body: sent, headers: received, receivedAt: now })).toBe(
          false,
        );
        expect(isVerified(own, sent, received)).toBe(false);
      }),
    );
  });

  it("verifies for five minutes before and after its time, and no longer", () => {
    fc.assert(
      fc.property(secret, id, body, fc.integer({ min: -600, max: 600 }), (own, name, text, age) => {
        const receivedAt = Math.floor(Date.now() / 1000) * 1000;
        const headers = createSignatureHeaders(
          { id: name, body: text },
          { keys: [keyOf(own)], now: receivedAt - age * 1000 },
        );
        expect(isSignedBy(keyOf(own), { body: text, headers, receivedAt })).toBe(
          Math.abs(age) <= 300,
        );
      }),
    );
  });

  it("verifies a message of just five minutes ago", () => {
    const receivedAt = 1_795_251_600_000;
    const message = { id: "event.1", body: "{}" };
    for (const ageSeconds of [300, -300]) {
      const signing = { keys: [anyKey], now: receivedAt - ageSeconds * 1000 };
      const headers = createSignatureHeaders(message, signing);
      expect(isSignedBy(anyKey, { body: "{}", headers, receivedAt })).toBe(true);
    }
  });

  it("verifies no message whose signed time is not in digits", () => {
    const receivedAt = 1_795_251_600_000;
    for (const timestamp of [" 1795251600", "1.7952516e9", "soon"]) {
      const mac = createHmac("sha256", anyKey).update(`event.1.${timestamp}.{}`).digest("base64");
      const headers = {
        "webhook-id": "event.1",
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${mac}`,
      };
      expect(isSignedBy(anyKey, { body: "{}", headers, receivedAt })).toBe(false);
    }
  });

  it("takes secrets of 24 to 64 bytes, and two of them during a rotation", () => {
    const ofBytes = (count: number) => `whsec_${Buffer.alloc(count, 7).toString("base64")}`;
    const keys = parseSigningKeys(`${ofBytes(24)},${ofBytes(64)}`, "EVENTS_SECRET");
    expect(keys.map((key) => key.symmetricKeySize)).toEqual([24, 64]);
    for (const count of [23, 65]) expect(() => keyOf(ofBytes(count))).toThrow("24 to 64 bytes");
  });

  it.each([
    {},
    { "webhook-signature": "" },
    { "webhook-signature": "v1," },
    { "webhook-signature": "v1" },
    { "webhook-signature": "v1a,AAAA" },
    { "webhook-timestamp": "soon" },
    { "webhook-timestamp": "1e3" },
    { "webhook-timestamp": "" },
  ])("verifies nothing with the headers %j", (changed) => {
    const now = Date.now();
    const right = createSignatureHeaders({ id: "event.1", body: "{}" }, { keys: [anyKey], now });
    const none = Object.keys(changed).length === 0;
    const headers = none ? {} : { ...right, ...changed };
    expect(isSignedBy(anyKey, { body: "{}", headers, receivedAt: now })).toBe(false);
    expect(isSignedBy(anyKey, { body: "{}", headers: right, receivedAt: now })).toBe(true);
  });

  it("verifies no signature of another version", () => {
    const now = Date.now();
    const right = createSignatureHeaders({ id: "event.1", body: "{}" }, { keys: [anyKey], now });
    for (const version of ["v2", "v1a", ""]) {
      const signature = (right["webhook-signature"] ?? "").replace("v1", version);
      const headers = { ...right, "webhook-signature": signature };
      expect(isSignedBy(anyKey, { body: "{}", headers, receivedAt: now })).toBe(false);
    }
  });

  it("sends the id and the time alone where there is no secret", () => {
    expect(
      createSignatureHeaders({ id: "event.1", body: "{}" }, { keys: [], now: 1_795_251_601_999 }),
    ).toEqual({
      "webhook-id": "event.1",
      "webhook-timestamp": "1795251601",
    });
  });

  it.each([
    ["", "is empty"],
    ["whsec_", "holds nothing"],
    [`whsec_${"A".repeat(31)}`, "is too short"],
    [`whsec_${Buffer.alloc(65).toString("base64")}`, "is too long"],
    [Buffer.alloc(32, 7).toString("base64"), "lacks whsec_"],
  ])("refuses the secret %j, which %s, and never quotes it", (wrong) => {
    const refusal = () => parseSigningKey(wrong, "EVENTS_CRM_SECRET");
    expect(refusal).toThrow("EVENTS_CRM_SECRET must be whsec_ and 24 to 64 bytes in base64");
  });
});
