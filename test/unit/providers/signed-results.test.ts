import { toAccountName } from "#shared/calls/ids.ts";
import { createHash, createHmac, createSecretKey } from "node:crypto";
import * as fc from "fast-check";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { createProviders } from "#shared/providers/providers.ts";
import { readLiveKitCallback } from "#shared/providers/livekit-callback.ts";
import { readWebhookCallback } from "#shared/providers/webhook.ts";

const now = Date.parse("2026-06-01T10:00:00Z");

describe("a webhook's signed result", () => {
  const bytes = Buffer.alloc(32, 7);
  const key = createSecretKey(bytes);
  const callId = "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000";
  const signatureOf = (body: string, seconds: number, by = bytes) =>
    createHmac("sha256", by).update(`${callId}-1.${seconds}.${body}`).digest("base64");
  const signed = (body: string, seconds = now / 1000, more = "") => ({
    body,
    receivedAt: now,
    headers: {
      "webhook-id": `${callId}-1`,
      "webhook-timestamp": String(seconds),
      "webhook-signature": `${more}v1,${signatureOf(body, seconds)}`,
    },
  });

  it("is read in full", () => {
    const body = {
      status: "completed",
      seconds: 42,
      answered_at: "2026-06-01T09:58:00Z",
      ended_at: "2026-06-01T11:59:00+02:00",
      human: true,
    };
    expect(readWebhookCallback(signed(JSON.stringify(body)), key, callId)).toEqual({
      kind: "reported",
      result: {
        status: "completed",
        word: "completed",
        seconds: 42,
        human: true,
        answeredAt: Date.parse(body.answered_at),
        endedAt: Date.parse(body.ended_at),
      },
    });
  });

  it.each([
    [true, true],
    [false, undefined],
    [null, undefined],
  ])("says with opt_out %j whether the callee asked not to be called again", (opt_out, asked) => {
    const body = JSON.stringify({ status: "completed", opt_out });
    const { kind, optedOut } = Object(readWebhookCallback(signed(body), key, callId));
    expect({ kind, optedOut }).toEqual({ kind: "reported", optedOut: asked });
  });

  it("counts beside a signature of another secret, while one is rotated", () => {
    const other = `v1,${signatureOf('{"status":"busy"}', now / 1000, Buffer.alloc(32, 8))} v1a,x `;
    const callback = signed('{"status":"busy"}', now / 1000, other);
    expect(readWebhookCallback(callback, key, callId)).toMatchObject({
      result: { status: "busy" },
    });
  });

  const busy = '{"status":"busy"}';
  it.each([
    ["old", "webhook-timestamp", signed(busy, now / 1000 - 301)],
    ["of the future", "webhook-timestamp", signed(busy, now / 1000 + 301)],
    ["of another body", "webhook-signature", { ...signed(busy), body: '{"status":"completed"}' }],
    ["unsigned", "webhook-id", { body: busy, headers: {}, receivedAt: now }],
  ])("that is %s does not verify, for its %s", (_, header, callback) => {
    expect(readWebhookCallback(callback, key, callId)).toMatchObject({
      kind: "unverified",
      error: { header },
    });
  });

  const isoIn = (ms: number) => new Date(now + ms).toISOString();
  it.each([
    ["of an unknown status", '{"status":"happy"}', ["/status"]],
    ["no JSON", "busy", [""]],
    ["null", "null", [""]],
    ["of a negative length", '{"status":"busy","seconds":-5}', ["/seconds"]],
    ["of more than a week", '{"status":"busy","seconds":604801}', ["/seconds"]],
    ["ended in the future", `{"status":"busy","ended_at":"${isoIn(300_001)}"}`, ["/ended_at"]],
    [
      "ended before it was answered",
      `{"status":"busy","answered_at":"${isoIn(0)}","ended_at":"${isoIn(-1)}"}`,
      ["/ended_at"],
    ],
  ])("that is %s is not in its form", (_, body, pointers) => {
    const told = readWebhookCallback(signed(body), key, callId);
    expect(told.kind === "malformed" && told.errors.map(({ pointer }) => pointer)).toEqual(
      pointers,
    );
  });

  it.each([
    ["an unknown field", { opinion: "good" }],
    ["a clock that is ahead as far as its signature's may be", { ended_at: isoIn(300_000) }],
    ["an end at the moment of its answer", { answered_at: isoIn(0), ended_at: isoIn(0) }],
    ["nothing but null", { seconds: null, answered_at: null, ended_at: null, human: null }],
  ])("is read with %s", (_, more) => {
    const body = JSON.stringify({ status: "busy", ...more });
    expect(readWebhookCallback(signed(body), key, callId)).toMatchObject({
      result: { status: "busy" },
    });
  });

  it("is read with a byte order mark, over which it is signed", () => {
    const body = `\uFEFF${busy}`;
    expect(readWebhookCallback(signed(body), key, callId)).toMatchObject({
      result: { status: "busy" },
    });
    expect(readWebhookCallback({ ...signed(busy), body }, key, callId)).toMatchObject({
      kind: "unverified",
    });
  });

  it("of another call does not verify at this one's address", () => {
    const other = callId.replace("00000", "00001");
    for (const id of [other, undefined]) {
      expect(readWebhookCallback(signed(busy), key, id)).toMatchObject({
        kind: "unverified",
        error: { header: "webhook-id" },
      });
    }
  });

  it("is verified by its own account's secret, which is needed unless the call went to this machine", async () => {
    const callback = signed(busy);
    const secretOf = (by: Buffer) => `whsec_${by.toString("base64")}`;
    const environment = {
      WEBHOOK_SECRET: secretOf(bytes),
      HOOK_EU_SECRET: secretOf(Buffer.alloc(32, 8)),
    };
    const options = { environment, fetch, now: () => now, print: () => undefined };
    const kindAt = async (account: string, url: string) => {
      const route = { provider: "webhook", account: toAccountName(account), url } as const;
      const told = await createProviders(
        options,
        [],
      )(route).readCallback?.(callback, route, callId);
      return told?.kind;
    };
    for (const url of ["https://example.com/dial", "http://127.0.0.1:9/dial"]) {
      expect(await kindAt("webhook", url)).toBe("reported");
      expect(await kindAt("hook-eu", url)).toBe("unverified");
    }
    expect(await kindAt("former", "https://example.com/dial")).toBe("unverified");
    expect(await kindAt("former", "http://127.0.0.1:9/dial")).toBe("reported");
  });

  it("needs no signature of a loopback host without a secret", () => {
    const body = '{"status":"voicemail","human":false}';
    const callback = { body, headers: {}, receivedAt: now };
    expect(readWebhookCallback(callback, undefined, callId)).toMatchObject({
      result: { status: "voicemail", human: false },
    });
  });

  it("of any body and headers throws nothing", () => {
    const headers = fc.dictionary(
      fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature"),
      fc.oneof(fc.string(), fc.constant("v1,")),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), headers, (body, some) => {
        expect(
          readWebhookCallback({ body, headers: some, receivedAt: now }, key, callId).kind,
        ).toBe("unverified");
      }),
    );
  });
});

describe("a LiveKit event", () => {
  const secret = "s".repeat(40);
  const keys = { apiKey: "API1", apiSecret: new TextEncoder().encode(secret) };
  const room = { name: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000-2" };
  const left = (disconnectReason: string, more: object = {}) => ({
    event: "participant_left",
    room,
    participant: { identity: "callee", disconnectReason, ...more },
    createdAt: String(now / 1000 - 5),
  });
  async function signed(
    event: unknown,
    { secret: by = secret, issuer = keys.apiKey, mark = "" } = {},
  ) {
    const body = mark + JSON.stringify(event);
    const sha256 = createHash("sha256").update(body).digest("base64");
    const token = await new SignJWT({ sha256 })
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer(issuer)
      .setExpirationTime(now / 1000 + 300)
      .sign(new TextEncoder().encode(by));
    return { body, headers: { authorization: token }, receivedAt: now };
  }
  const toldBy = (callback: Awaited<ReturnType<typeof signed>>) =>
    readLiveKitCallback(callback, keys, "callee");

  it.each([
    ["CLIENT_INITIATED", "completed"],
    ["USER_UNAVAILABLE", "unknown"],
    ["USER_REJECTED", "unknown"],
    ["SIP_TRUNK_FAILURE", "failed"],
    ["ROOM_DELETED", "unknown"],
    ["PARTICIPANT_REMOVED", "unknown"],
  ])("of a callee who left for %s reports the call as %s", async (word, status) => {
    expect(await toldBy(await signed(left(word)))).toMatchObject({
      kind: "reported",
      call: { id: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000", attempt: 2 },
      result: { status, word, endedAt: now - 5000 },
    });
  });

  /** A callee who left so many seconds after the call was dialed. */
  const after = (seconds: number, status?: string, word = "USER_UNAVAILABLE") =>
    left(word, {
      joinedAtMs: String(now - 5000 - seconds * 1000),
      attributes: status === undefined ? {} : { "sip.callStatus": status },
    });

  it.each([
    ["rang for a minute", after(60, "ringing"), "no_answer"],
    ["rang as long as phones do at least before they give up", after(20, "ringing"), "no_answer"],
    ["was gone for a minute, of a server that does not tell ringing", after(60), "no_answer"],
    ["rang for too short a time, as for an announcement", after(12, "ringing"), "unknown"],
    ["was refused at once, as for a number that does not exist", after(1, "dialing"), "unknown"],
    ["never rang at a trunk that kept silent", after(60, "dialing"), "unknown"],
    ["rejected the call after a minute", after(60, "ringing", "USER_REJECTED"), "unknown"],
  ])("of a callee whose phone %s reports no more than that proves", async (_, event, status) => {
    const { disconnectReason: word } = event.participant;
    expect(await toldBy(await signed(event))).toMatchObject({
      result: { status, word, answeredAt: null, seconds: null },
    });
  });

  it("reads the time of joining in seconds, of an older server", async () => {
    const rang = { joinedAt: String(now / 1000 - 35), attributes: { "sip.callStatus": "ringing" } };
    expect(await toldBy(await signed(left("USER_UNAVAILABLE", rang)))).toMatchObject({
      result: { status: "no_answer" },
    });
    const unset = { ...rang, joinedAt: "0", joinedAtMs: "0" };
    expect(await toldBy(await signed(left("USER_UNAVAILABLE", unset)))).toMatchObject({
      result: { status: "unknown" },
    });
  });

  it("is read with a byte order mark, whose bytes its hash covers", async () => {
    const callback = await signed(left("CLIENT_INITIATED"), { mark: "\uFEFF" });
    expect(await toldBy(callback)).toMatchObject({ result: { status: "completed" } });
    expect(await toldBy({ ...callback, body: callback.body.slice(1) })).toEqual({
      kind: "unverified",
    });
  });

  it("does not rely on an attribute that LiveKit does not have", async () => {
    const attributes = { "sip.callStatusCode": "486" };
    expect(await toldBy(await signed(left("USER_REJECTED", { attributes })))).toMatchObject({
      result: { status: "unknown", word: "USER_REJECTED" },
    });
  });

  it.each(["ROOM_DELETED", "SIP_TRUNK_FAILURE"])(
    "of a callee whose call was active until %s reports it as completed",
    async (word) => {
      const active = left(word, { attributes: { "sip.callStatus": "active" } });
      expect(await toldBy(await signed(active))).toMatchObject({ result: { status: "completed" } });
    },
  );

  it.each([
    ["another event", { ...left("CLIENT_INITIATED"), event: "participant_joined" }],
    ["another participant", left("CLIENT_INITIATED", { identity: "agent" })],
    ["another room", { ...left("CLIENT_INITIATED"), room: { name: "lobby" } }],
  ])("about %s is left alone", async (_, event) => {
    expect(await toldBy(await signed(event))).toEqual({ kind: "other" });
  });

  it("of another key, another body or another form does not verify", async () => {
    const event = left("USER_REJECTED");
    for (const callback of [
      await signed(event, { secret: "t".repeat(40) }),
      await signed(event, { issuer: "API2" }),
      { ...(await signed(event)), body: JSON.stringify(left("CLIENT_INITIATED")) },
      { ...(await signed(event)), headers: { authorization: "" } },
      await signed("participant_left"),
    ]) {
      expect(await toldBy(callback)).toEqual({ kind: "unverified" });
    }
  });
});
