import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { callbackAddress, type CallbackSubject } from "#shared/settings/callback-url.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { createSignatureHeaders, parseSigningKey } from "#shared/lib/standard-webhooks.ts";
import { apiEnvironment, webhookSecret } from "#test/support/environment.ts";
import { validated } from "#test/support/validated-answers.ts";
import type { ApiUnderTest } from "./setup.ts";

export interface CallbacksUnderTest extends Pick<ApiUnderTest, "request"> {
  /** Removes and returns the messages of the events queue, once there are at least `count`. */
  queuedEvents(count: number): Promise<EventMessage[]>;
}

const call = { id: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000", claim: "0123456789abcdef0123" };
const hashKey = apiEnvironment.HASH_KEY;
/** Returns the path of a callback address below the public one. */
const pathOf = (subject: CallbackSubject) => callbackAddress("", { ...subject, hashKey });

/** Callbacks to the address of a whole account: the account, the body, and the call's id that is found in it. */
const bodies: [account: string, body: string, callId: string | undefined][] = [
  ["elevenlabs", `{"data":{"conversation_id":"conv_1","user_id":"${call.id}"}}`, call.id],
  ["bland", `{"call_id":"b-1","metadata":{"call_id":"${call.id}"}}`, call.id],
  ["retell", '{"call":{"call_id":"call_ab12"}}', undefined],
  ["twilio-eu", "CallSid=CA0123", undefined],
  ["telnyx", "", undefined],
];

const completed = '{"status":"completed","seconds":72}';
const isoIn = (ms: number) => new Date(Date.now() + ms).toISOString();
const wrongBodies: [what: string, body: BodyInit, pointers: string[]][] = [
  ["an unknown status", '{"status":"+12025550123"}', ["/status"]],
  ["no status", '{"seconds":3}', ["/status"]],
  ["negative seconds", '{"status":"busy","seconds":-5}', ["/seconds"]],
  ["seconds in a text", '{"status":"busy","seconds":"5"}', ["/seconds"]],
  ["a time without a zone", '{"status":"busy","ended_at":"2025-10-20T09:00:00"}', ["/ended_at"]],
  [
    "an end before the answer",
    '{"status":"busy","answered_at":"2025-01-02T00:00:01Z","ended_at":"2025-01-02T00:00:00Z"}',
    ["/ended_at"],
  ],
  ["an end in the future", `{"status":"busy","ended_at":"${isoIn(3_600_000)}"}`, ["/ended_at"]],
  [
    "everything wrong",
    `{"status":5,"seconds":-1,"human":"yes","answered_at":"${isoIn(3_600_000)}","ended_at":"${isoIn(-3_600_000)}"}`,
    ["/status", "/seconds", "/human", "/answered_at", "/ended_at"],
  ],
  ["no object", "[]", [""]],
  ["no JSON", "status=completed&To=+12025550123", [""]],
  ["no UTF-8", Uint8Array.from([0x7b, 0xff, 0x7d]), [""]],
  ["no body", "", [""]],
  ["more than 64 KiB", `{"status":"busy","more":"${"x".repeat(70_000)}"}`, [""]],
];

/** Returns the headers that sign a webhook's callback. */
function signing(
  body: BodyInit,
  { secret = webhookSecret, id = call.id, now = Date.now() } = {},
): Record<string, string> {
  const text = typeof body === "string" ? body : "";
  return createSignatureHeaders(
    { id, body: text },
    { keys: [parseSigningKey(secret, "the secret")], now },
  );
}

/** Describes the callback door on any platform, under `apiEnvironment`. @param runs number of random requests */
export function describeCallbacks(
  name: string,
  create: () => CallbacksUnderTest,
  { runs }: { runs: number },
): void {
  describe(`callbacks to the API on ${name}`, () => {
    let api: CallbacksUnderTest;
    beforeEach(() => {
      api = validated(create());
    });
    const post = (path: string, body: BodyInit = "", headers: Record<string, string> = {}) =>
      api.request(path, { method: "POST", body, headers });

    it.each(bodies)(
      "of all calls of %s with %s are queued with the id %s",
      async (account, body, id) => {
        const response = await post(pathOf({ account }), body);
        expect([response.status, await response.text()]).toEqual([204, ""]);
        const found = id === undefined ? {} : { callId: id };
        expect(await api.queuedEvents(1)).toEqual([{ kind: "callback", account, ...found }]);
      },
    );

    it.each(["twilio-eu", "telnyx", "vapi", "retell", "ultravox", "exotel", "plivo", "vonage"])(
      "of one call of %s are hints, whatever their body says",
      async (account) => {
        const body = `CallSid=CA1&other=${call.id.replace("00000", "00007")}`;
        expect((await post(pathOf({ account, call }), body)).status).toBe(204);
        expect(await api.queuedEvents(1)).toEqual([{ kind: "callback", account, call }]);
      },
    );

    const long = `{"status":"busy","event":"room_finished","é":"${"x".repeat(60_000)}"}`;
    it.each([
      ["livekit", () => ({ authorization: "Bearer signed" })],
      ["webhook", () => signing(long)],
    ])("of %s travel whole, with the headers that sign them", async (account, sign) => {
      const own = sign();
      const headers = { ...own, "content-type": "application/webhook+json", cookie: "c=1" };
      expect((await post(pathOf({ account, call }), long, headers)).status).toBe(204);
      const signed = { body: long, headers: own, receivedAt: expect.any(Number) };
      expect(await api.queuedEvents(1)).toEqual([{ kind: "callback", account, call, signed }]);
    });

    describe("of a webhook", () => {
      const account = "webhook";
      const tell = (body: BodyInit, headers: Record<string, string>, of = call) =>
        post(pathOf({ account, call: of }), body, headers);

      it.each(wrongBodies)(
        "with %s are answered 422 with pointers and no value, and nothing is queued",
        async (_, body, pointers) => {
          const response = await tell(body, signing(body));
          expect(response.status).toBe(422);
          expect(response.headers.get("content-type")).toBe("application/problem+json");
          const text = await response.text();
          const { errors } = JSON.parse(text);
          expect(errors.map((one: { pointer: string }) => one.pointer)).toEqual(pointers);
          expect(text).not.toMatch(/2025550123|yes|2025-|-01-0|:-/);
          expect(await api.queuedEvents(0)).toEqual([]);
        },
      );

      const minutes = 60_000;
      const other = call.id.replace("00000", "00001");
      // Signed when they are sent: the tests of some engines begin minutes after they are collected.
      it.each<[what: string, headers: () => Record<string, string>, header: string]>([
        ["unsigned", () => ({}), "webhook-id"],
        [
          "signed by another secret",
          () => signing(completed, { secret: `whsec_${"A".repeat(44)}` }),
          "webhook-signature",
        ],
        ["of another body", () => signing('{"status":"busy"}'), "webhook-signature"],
        ["of another call", () => signing(completed, { id: other }), "webhook-id"],
        [
          "six minutes old",
          () => signing(completed, { now: Date.now() - 6 * minutes }),
          "webhook-timestamp",
        ],
        [
          "of the future",
          () => signing(completed, { now: Date.now() + 6 * minutes }),
          "webhook-timestamp",
        ],
        [
          "without a time",
          () => ({ ...signing(completed), "webhook-timestamp": "now" }),
          "webhook-timestamp",
        ],
      ])("that are %s are answered 401, whatever the body says", async (_, headers, header) => {
        for (const body of [completed, `${completed} `, "{"]) {
          const response = await tell(body, headers());
          expect([response.status, response.headers.get("www-authenticate")]).toEqual([
            401,
            "Standard-Webhooks",
          ]);
          const named = body === completed ? header : expect.any(String);
          expect(await response.json()).toMatchObject({ errors: [{ header: named }] });
        }
        expect(await api.queuedEvents(0)).toEqual([]);
      });

      it("are taken whatever else their body says, and twice if they come twice", async () => {
        const body = `{"status":"completed","answered_at":null,"ended_at":"${isoIn(-1000)}","sip":{"code":200}}`;
        for (let time = 0; time < 2; time++) {
          expect((await tell(body, signing(body, { id: `${call.id}.end` }))).status).toBe(204);
        }
        expect(await api.queuedEvents(2)).toMatchObject([
          { signed: { body } },
          { signed: { body } },
        ]);
      });

      it("are taken with a byte order mark, as calls are, signed over their bytes as sent", async () => {
        const body = `\uFEFF{"status":"completed"}`;
        const withoutMark = body.slice(1);
        expect((await tell(body, signing(withoutMark))).status).toBe(401);
        expect((await tell(body, signing(body))).status).toBe(204);
        expect(await api.queuedEvents(1)).toMatchObject([{ signed: { body } }]);
      });
    });

    it.each<[string, BodyInit]>([
      ["too long", `CallSid=CA1&${"x".repeat(70_000)}`],
      ["no UTF-8", Uint8Array.from([0x43, 0xff, 0xfe])],
    ])("with a body that is %s are hints all the same", async (_, body) => {
      for (const account of ["twilio-eu", "livekit"]) {
        expect((await post(pathOf({ account, call }), body)).status).toBe(204);
        expect(await api.queuedEvents(1)).toEqual([{ kind: "callback", account, call }]);
      }
    });

    it("of an account that the plan has had are hints, too", async () => {
      const of = { account: "gone", call };
      expect((await post(pathOf(of), "CallSid=CA1")).status).toBe(204);
      expect(await api.queuedEvents(1)).toEqual([{ kind: "callback", ...of }]);
    });

    it("that are forged are answered 404 without a body, and nothing of them is queued", async () => {
      const right = pathOf({ account: "twilio-eu", call });
      const project = pathOf({ account: "twilio-eu" });
      for (const path of [
        right.replace(/.$/, (last) => (last === "A" ? "B" : "A")),
        right.slice(0, -1),
        `${right}A`,
        `${right}/`,
        right.replace(call.claim, "other"),
        right.replace("twilio-eu", "telnyx"),
        right.replace("twilio-eu/", ""),
        `${project}/${call.id}`,
        project.replace("twilio-eu", "telnyx"),
        callbackAddress("", { account: "telnyx", call, hashKey: "6f".repeat(32) }),
        "/callbacks",
        "/callbacks/twilio-eu",
      ]) {
        for (const response of [await post(path, "CallSid=CA1"), await api.request(path)]) {
          expect([path, response.status, await response.text()]).toEqual([path, 404, ""]);
        }
      }
      expect(await api.queuedEvents(0)).toEqual([]);
    });

    it("are posted: another method is answered 405, and names POST", async () => {
      for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]) {
        const response = await api.request(pathOf({ account: "vapi" }), { method });
        expect([method, response.status, response.headers.get("allow")]).toEqual([
          method,
          405,
          "POST",
        ]);
      }
      expect(await api.queuedEvents(0)).toEqual([]);
    });

    it("are answered 204, 401, 404, 405 or 422, whatever is sent, and each 204 is one message", async () => {
      const segment = fc.oneof(
        fc.string({ minLength: 1, maxLength: 40 }).map(encodeURIComponent),
        fc.constantFrom("twilio-eu", "livekit", call.id, call.claim, "%", "%ff", "..;", "{}"),
      );
      const subject = fc.oneof(
        {
          weight: 3,
          arbitrary: fc.constantFrom<CallbackSubject>(
            { account: "telnyx" },
            { account: "livekit", call },
            { account: "webhook", call },
          ),
        },
        fc.record({ account: segment, call: fc.record({ id: segment, claim: segment }) }),
      );
      const path = fc.oneof(
        { weight: 3, arbitrary: subject.map(pathOf) },
        fc.array(segment, { maxLength: 6 }).map((parts) => ["/callbacks", ...parts].join("/")),
      );
      const request = fc.record({
        path,
        method: fc.constantFrom("POST", "POST", "POST", "GET", "PATCH"),
        body: fc.oneof(fc.string(), fc.uint8Array({ maxLength: 300 }), fc.json()),
        type: fc.constantFrom("application/json", "application/x-www-form-urlencoded", 'text/"x'),
      });
      const accepted = {
        path: pathOf({ account: "telnyx" }),
        method: "POST",
        body: "{}",
        type: "application/json",
      } as const;
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(request, async ({ path: at, method, body, type }) => {
          const sent = method === "GET" ? {} : { body: new Uint8Array(Buffer.from(body)) };
          const headers = { "content-type": type };
          const { status } = await api.request(at, { method, headers, ...sent });
          expect(status).toBeOneOf([204, 401, 404, 405, 422]);
          if (status === 204) taken += 1;
        }),
        { numRuns: runs, examples: [[accepted]] },
      );
      expect(taken).toBeGreaterThan(0);
      expect(await api.queuedEvents(taken)).toHaveLength(taken);
    });
  });
}
