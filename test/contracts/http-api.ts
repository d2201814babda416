import { beforeEach, describe, expect, it } from "vitest";
import { callIdOf } from "../../shared/calls/ids.ts";
import { callsOf, type Message } from "../../shared/queue/messages.ts";
import { tokens } from "../support/environment.ts";

export interface ApiUnderTest {
  /** Sends a request to the API; `path` begins with a slash. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Removes and returns the queued messages, once there are at least `count`. */
  queued(count: number): Promise<Message[]>;
}

interface Problem {
  title: string;
  status: number;
  detail: string;
  errors?: { pointer?: string; header?: string; detail: string }[];
}

const paths = ["/v1/calls", "/v1/calls/batch"] as const;
/** A ULID: 26 digits of Crockford's base32. */
export const requestIdPattern = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const valid = { phone_number: "+12025550123", agent_id: "agent_sales" };

function idsOf(message: Message | undefined): string[] {
  return message?.kind === "calls" ? callsOf(message).map(({ id }) => id) : [];
}

function requestsOf(message: Message | undefined): object[] {
  return message?.kind === "calls" ? message.calls.map(({ request }) => request) : [];
}

/** Describes the two endpoints on any platform, under `apiEnvironment`. */
export function describeHttpApi(name: string, create: () => ApiUnderTest): void {
  describe(`the API on ${name}`, () => {
    let api: ApiUnderTest;
    beforeEach(() => {
      api = create();
    });

    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      api.request(path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens.crm}`,
          "content-type": "application/json",
          ...headers,
        },
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
      });
    /** Returns the answer as a problem, after asserting the common properties of all problems. */
    async function problemOf(response: Response, status: number): Promise<Problem> {
      const text = await response.text();
      expect([response.status, text]).toEqual([status, expect.any(String)]);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(response.headers.get("x-request-id")).toMatch(requestIdPattern);
      const problem: Problem = JSON.parse(text);
      expect(problem).toMatchObject({ status, title: expect.any(String) });
      return problem;
    }
    const pointersOf = async (response: Response) =>
      (await problemOf(response, 422)).errors?.map(({ pointer, header }) => pointer ?? header);
    /** Returns a single call and a batch of that call alone: the same rules hold for both. */
    const asBoth = (call: unknown) =>
      [
        ["/v1/calls", call, ""],
        ["/v1/calls/batch", [valid, call], "/1"],
      ] as const;
    const nothingQueued = async () => expect(await api.queued(0)).toEqual([]);

    describe("accepting", () => {
      it("answers 201 without a body and queues the call", async () => {
        const response = await post("/v1/calls", {
          ...valid,
          context: { name: "Zoë 😀", "": "empty key", note: "a\u0000b</Stream>" },
          timezone: "america/new_york",
        });
        expect(response.status).toBe(201);
        expect(await response.text()).toBe("");
        const [message] = await api.queued(1);
        const requestId = response.headers.get("x-request-id");
        expect(requestId).toMatch(requestIdPattern);
        expect(response.headers.has("idempotency-replayed")).toBe(false);
        expect(message).toEqual({
          kind: "calls",
          requestId,
          client: "crm",
          acceptedAt: expect.any(Number),
          calls: [
            {
              index: 0,
              request: {
                ...valid,
                context: { name: "Zoë 😀", "": "empty key", note: "a\u0000b</Stream>" },
                timezone: "america/new_york",
              },
            },
          ],
        });
      });

      it("queues a batch as one message, equal numbers as calls of their own", async () => {
        const calls = [valid, valid, { ...valid, agent_id: "agent_support" }];
        const response = await post("/v1/calls/batch", calls);
        expect([response.status, await response.text()]).toEqual([201, ""]);
        const [message, ...others] = await api.queued(1);
        expect(others).toEqual([]);
        expect(requestsOf(message)).toEqual(calls);
        // A client that has the answer's X-Request-Id knows the ids of all its calls.
        const requestId = response.headers.get("x-request-id") ?? "";
        expect(idsOf(message)).toEqual(calls.map((_, index) => callIdOf(requestId, index)));
      });

      it("takes the largest batch there is", async () => {
        const calls = Array.from({ length: 10_000 }, (_, n) => ({
          ...valid,
          phone_number: `+1202555${String(n).padStart(4, "0")}`,
          context: { n: "x".repeat(250) },
        }));
        expect((await post("/v1/calls/batch", calls)).status).toBe(201);
        expect((await api.queued(1)).map(requestsOf)).toEqual([calls]);
      });

      it.each([
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json;charset="utf-8"',
      ])("takes the content type %s", async (type) => {
        for (const [path, body] of asBoth(valid)) {
          expect((await post(path, body, { "content-type": type })).status).toBe(201);
        }
        await api.queued(2);
      });

      it.each([
        "UTC",
        "Z",
        "us/eastern",
        "Asia/Kathmandu",
        "+05:45",
        "-12:00",
        "+14:00",
        "Etc/GMT+5",
      ])("takes the time zone %s", async (timezone) => {
        expect((await post("/v1/calls", { ...valid, timezone })).status).toBe(201);
        await api.queued(1);
      });

      it.each(["+12025550123", "+15551234567", "+447700900000", "+18005550100", "+14165550123"])(
        "takes the number %s",
        async (phone_number) => {
          expect((await post("/v1/calls", { ...valid, phone_number })).status).toBe(201);
          await api.queued(1);
        },
      );

      it("takes a context of 100 entries and of 32 KiB", async () => {
        const hundred = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`key_${n}`, ""]));
        const large = { text: "x".repeat(32 * 1024 - '{"text":""}'.length) };
        for (const context of [hundred, large]) {
          expect((await post("/v1/calls", { ...valid, context })).status).toBe(201);
        }
        await api.queued(2);
      });
    });

    describe("refusing callers", () => {
      it.each([
        ["no token", undefined],
        ["a wrong token", "Bearer oc_wrong"],
        ["an ended token", `Bearer ${tokens.ended}`],
        ["another scheme", `Basic ${tokens.crm}`],
        ["a bare Bearer", "Bearer"],
        ["a bare Bearer with a space", "Bearer "],
        ["a bare token", tokens.crm],
        ["two tokens", `Bearer ${tokens.crm} ${tokens.crm}`],
        ["two schemes", `Bearer ${tokens.crm}, Bearer ${tokens.crm}`],
        ["characters no token has", 'Bearer a"b'],
        ["an empty header", ""],
      ])("answers 401 to %s", async (_, authorization) => {
        for (const path of paths) {
          const headers = {
            "content-type": "application/json",
            ...(authorization === undefined ? {} : { authorization }),
          };
          // The token is checked before the body, which is no JSON here.
          const response = await api.request(path, { method: "POST", headers, body: "{" });
          expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
          await problemOf(response, 401);
        }
        await nothingQueued();
      });

      it("knows the scheme in any case", async () => {
        const response = await post("/v1/calls", valid, { authorization: `bearer ${tokens.crm}` });
        expect(response.status).toBe(201);
        await api.queued(1);
      });

      it("keeps a token to its agents", async () => {
        const headers = { authorization: `Bearer ${tokens.salesOnly}` };
        expect((await post("/v1/calls", valid, headers)).status).toBe(201);
        await api.queued(1);
        for (const [path, body, at] of asBoth({ ...valid, agent_id: "agent_support" })) {
          expect(await pointersOf(await post(path, body, headers))).toEqual([`${at}/agent_id`]);
        }
        await nothingQueued();
      });
    });

    describe("refusing requests", () => {
      const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
      it.each([
        ["malformed JSON", '{"phone_number": "+12025550123"'],
        ["nothing", ""],
        ["invalid UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
        ["a truncated UTF-8 character", new Uint8Array([0x22, 0xe2, 0x82])],
        ["a string", '"+12025550123"'],
        ["null", "null"],
        ["arrays 5000 deep", deep],
        ["arrays 30,000 deep that never close", "[".repeat(30_000)],
      ])("answers 422 to %s", async (_, body) => {
        for (const path of paths) await problemOf(await post(path, body), 422);
        await nothingQueued();
      });

      it("answers 422 to a context nested 5000 deep", async () => {
        const body = `{"phone_number":"+12025550123","agent_id":"agent_sales","context":{"a":${deep}}}`;
        expect(await pointersOf(await post("/v1/calls", body))).toEqual(["/context/a"]);
      });

      it.each([
        "text/plain",
        "application/json; charset=latin1",
        "application/problem+json",
        "application/jsonp",
      ])("answers 422 to the content type %s", async (type) => {
        for (const [path, body] of asBoth(valid)) {
          const response = await post(path, body, { "content-type": type });
          expect(await pointersOf(response)).toEqual(["Content-Type"]);
        }
        await nothingQueued();
      });

      it("answers 422 to no content type and to any content encoding", async () => {
        for (const [path, body] of asBoth(valid)) {
          const headers = { authorization: `Bearer ${tokens.crm}` };
          const bytes = new TextEncoder().encode(JSON.stringify(body));
          const untyped = await api.request(path, { method: "POST", headers, body: bytes });
          expect(await pointersOf(untyped)).toEqual(["Content-Type"]);
          const encoded = await post(path, body, { "content-encoding": "identity" });
          expect(await pointersOf(encoded)).toEqual(["Content-Encoding"]);
        }
        await nothingQueued();
      });

      it("answers 422 to bodies over the limits", async () => {
        const call = JSON.stringify(valid);
        expect((await post("/v1/calls", call.padEnd(64 * 1024))).status).toBe(201);
        await problemOf(await post("/v1/calls", call.padEnd(64 * 1024 + 1)), 422);
        await problemOf(
          await post("/v1/calls/batch", `[${call}]`.padEnd(4 * 1024 * 1024 + 1)),
          422,
        );
        await api.queued(1);
      });

      it("answers 422 to an empty batch, to 10,001 calls and to one call where a batch belongs", async () => {
        expect(await pointersOf(await post("/v1/calls/batch", []))).toEqual([""]);
        const many = Array.from({ length: 10_001 }, () => valid);
        expect(await pointersOf(await post("/v1/calls/batch", many))).toEqual([""]);
        expect(await pointersOf(await post("/v1/calls/batch", valid))).toEqual([""]);
        expect((await problemOf(await post("/v1/calls", [valid]), 422)).errors).toHaveLength(1);
        await nothingQueued();
      });

      it.each<[string, object, string]>([
        ["no phone_number", { agent_id: "agent_sales" }, "/phone_number"],
        ["a null phone_number", { ...valid, phone_number: null }, "/phone_number"],
        ["an empty phone_number", { ...valid, phone_number: "" }, "/phone_number"],
        ["a number as phone_number", { ...valid, phone_number: 12_025_550_123 }, "/phone_number"],
        ["a national number", { ...valid, phone_number: "2025550123" }, "/phone_number"],
        ["a number with spaces", { ...valid, phone_number: "+1 202 555 0123" }, "/phone_number"],
        [
          "a number with a line break",
          { ...valid, phone_number: "+12025550123\n" },
          "/phone_number",
        ],
        ["DTMF digits", { ...valid, phone_number: "+12025550123,,1" }, "/phone_number"],
        ["other digits", { ...valid, phone_number: "+١٢٠٢٥٥٥٠١٢٣" }, "/phone_number"],
        ["16 digits", { ...valid, phone_number: "+1202555012345678" }, "/phone_number"],
        [
          "a number that reads as another",
          { ...valid, phone_number: "+5305555555" },
          "/phone_number",
        ],
        ["a premium number", { ...valid, phone_number: "+19005550123" }, "/phone_number"],
        ["a denied prefix of +1", { ...valid, phone_number: "+18765550123" }, "/phone_number"],
        ["another country", { ...valid, phone_number: "+33123456789" }, "/phone_number"],
        ["another country of +1", { ...valid, phone_number: "+17875550123" }, "/phone_number"],
        ["no country", { ...valid, phone_number: "+88161234567" }, "/phone_number"],
        ["no agent_id", { phone_number: "+12025550123" }, "/agent_id"],
        ["an empty agent_id", { ...valid, agent_id: "" }, "/agent_id"],
        ["an unknown agent", { ...valid, agent_id: "agent_x" }, "/agent_id"],
        ["an agent named like a property", { ...valid, agent_id: "constructor" }, "/agent_id"],
        ["an agent named __proto__", { ...valid, agent_id: "__proto__" }, "/agent_id"],
        ["an agent_id with a control character", { ...valid, agent_id: "a\u0007" }, "/agent_id"],
        ["an agent_id of 129", { ...valid, agent_id: "a".repeat(129) }, "/agent_id"],
        ["a null context", { ...valid, context: null }, "/context"],
        ["a context that is an array", { ...valid, context: ["a"] }, "/context"],
        ["a number in the context", { ...valid, context: { a: 1 } }, "/context/a"],
        ["a null in the context", { ...valid, context: { a: null } }, "/context/a"],
        [
          "an unpaired surrogate in the context",
          { ...valid, context: { a: "\ud800" } },
          "/context/a",
        ],
        ["an unpaired surrogate in a key", { ...valid, context: { "\udc00": "" } }, "/context"],
        ["a key that may be a number", { ...valid, context: { "+12025550188": 1 } }, "/context"],
        [
          "101 entries",
          { ...valid, context: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, ""])) },
          "/context",
        ],
        ["a context over 32 KiB", { ...valid, context: { a: "é".repeat(17_000) } }, "/context"],
        ["a null timezone", { ...valid, timezone: null }, "/timezone"],
        ["an empty timezone", { ...valid, timezone: "" }, "/timezone"],
        ["an unknown timezone", { ...valid, timezone: "Mars/Olympus" }, "/timezone"],
        ["an offset without a colon", { ...valid, timezone: "+0530" }, "/timezone"],
        ["an offset beyond all zones", { ...valid, timezone: "+14:30" }, "/timezone"],
        ["a timezone that is a number", { ...valid, timezone: 5 }, "/timezone"],
        ["a misspelled field", { ...valid, time_zone: "UTC" }, "/time_zone"],
        ["a field with a digit", { ...valid, phone_number2: "x" }, "/phone_number2"],
        ["a field of somebody's number", { ...valid, "+12025550188": "x" }, ""],
      ])("answers 422 to %s", async (_, call, pointer) => {
        for (const [path, body, at] of asBoth(call)) {
          const response = await post(path, body);
          const text = await response.clone().text();
          expect(await pointersOf(response)).toEqual([at + pointer]);
          // No value comes back: the only digits are the message's own example.
          expect(text.replace("such as +12025550123", "")).not.toMatch(/\d{7}/);
        }
        await nothingQueued();
      });

      it("refuses the key __proto__ wherever it stands", async () => {
        const call = '{"phone_number":"+12025550123","agent_id":"agent_sales",';
        const inContext = `${call}"context":{"__proto__":"x"}}`;
        expect(await pointersOf(await post("/v1/calls", inContext))).toEqual(["/context"]);
        const asField = `${call}"__proto__":{"timezone":"UTC"}}`;
        expect(await pointersOf(await post("/v1/calls", asField))).toEqual(["/__proto__"]);
        await nothingQueued();
      });

      it("names every wrong call and field of a batch, and queues nothing of it", async () => {
        const calls: object[] = Array.from({ length: 1000 }, () => ({ ...valid }));
        calls[3] = { ...valid, phone_number: "x", agent_id: "" };
        calls[777] = { ...valid, time_zone: "UTC" };
        expect(await pointersOf(await post("/v1/calls/batch", calls))).toEqual([
          "/3/phone_number",
          "/3/agent_id",
          "/777/time_zone",
        ]);
        const allWrong = calls.map(() => ({ ...valid, phone_number: "" }));
        expect(await pointersOf(await post("/v1/calls/batch", allWrong))).toHaveLength(100);
        // The largest bodies with errors throughout get equally short answers.
        const wrongContext = Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`k${n}`, 1]));
        const wrongThroughout = Array.from({ length: 4000 }, () => ({
          ...valid,
          context: wrongContext,
        }));
        expect(await pointersOf(await post("/v1/calls/batch", wrongThroughout))).toHaveLength(100);
        const unknownFields = Object.fromEntries(
          Array.from({ length: 5000 }, (_, n) => [`f${n}`, 1]),
        );
        expect(
          await pointersOf(await post("/v1/calls", { ...valid, ...unknownFields })),
        ).toHaveLength(100);
        const allDenied = calls.map(() => ({ ...valid, phone_number: "+19005550123" }));
        expect(await pointersOf(await post("/v1/calls/batch", allDenied))).toHaveLength(100);
        await nothingQueued();
      });
    });

    describe("other requests", () => {
      it.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])(
        "answers 405 to %s, and names POST",
        async (method) => {
          for (const path of paths) {
            const response = await api.request(path, { method });
            expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
          }
        },
      );

      it("answers 404 elsewhere", async () => {
        for (const path of ["/", "/v1", "/v1/calls/", "/v1/calls/x", "/v2/calls", "/v1//calls"]) {
          await problemOf(await api.request(path, { method: "POST" }), 404);
        }
      });

      it("answers /healthz without a token", async () => {
        expect((await api.request("/healthz")).status).toBe(200);
      });
    });

    describe("Idempotency-Key", () => {
      const withKey = (key: string, more: Record<string, string> = {}) => ({
        "idempotency-key": key,
        ...more,
      });
      const freshKey = () => crypto.randomUUID();
      it("gives a repeated call its id again, and queues it again", async () => {
        const headers = withKey(freshKey());
        const answers: [number, string | null, string | null][] = [];
        for (let n = 0; n < 3; n++) {
          await new Promise((next) => setTimeout(next, 3));
          const { status, headers: answered } = await post("/v1/calls", valid, headers);
          const replayed = answered.get("idempotency-replayed");
          answers.push([status, answered.get("x-request-id"), replayed]);
        }
        // Repetitions are one request, so a cancellation covers all of them.
        const [, requestId] = answers[0] ?? [];
        expect(answers).toEqual([
          [201, requestId, null],
          [201, requestId, "true"],
          [201, requestId, "true"],
        ]);
        const messages = await api.queued(3);
        expect(messages).toHaveLength(3);
        for (const message of messages) expect(message).toEqual(messages[0]);
        expect(messages[0]).toMatchObject({ requestId });
      });

      it("gives twenty at once one id", async () => {
        const headers = withKey(freshKey());
        const answers = await Promise.all(
          Array.from({ length: 20 }, () => post("/v1/calls", valid, headers)),
        );
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
        expect(new Set(answers.map(({ headers: all }) => all.get("x-request-id"))).size).toBe(1);
        const first = answers.filter(({ headers: all }) => !all.has("idempotency-replayed"));
        expect(first).toHaveLength(1);
        expect(new Set((await api.queued(20)).flatMap(idsOf)).size).toBe(1);
      });

      it("gives the calls of a repeated batch their ids again", async () => {
        const headers = withKey(freshKey());
        await post("/v1/calls/batch", [valid, valid], headers);
        await post("/v1/calls/batch", [valid, valid], headers);
        const [first, second] = await api.queued(2);
        expect(second).toEqual(first);
        expect(new Set(idsOf(first)).size).toBe(2);
      });

      it("answers 422 to another body, another path or another spelling under a used key", async () => {
        const headers = withKey(freshKey());
        await post("/v1/calls", valid, headers);
        await api.queued(1);
        const others: [string, unknown][] = [
          ["/v1/calls", { ...valid, phone_number: "+12025550124" }],
          ["/v1/calls", `${JSON.stringify(valid)} `],
          ["/v1/calls/batch", [valid]],
        ];
        for (const [path, body] of others) {
          expect(await pointersOf(await post(path, body, headers))).toEqual(["Idempotency-Key"]);
        }
        await nothingQueued();
      });

      it("keeps a key to its client, and through a rotation of the token", async () => {
        const key = freshKey();
        await post("/v1/calls", valid, withKey(key));
        const rotated = withKey(key, { authorization: `Bearer ${tokens.crmRotated}` });
        const other = withKey(key, { authorization: `Bearer ${tokens.shop}` });
        await post("/v1/calls", valid, rotated);
        const ids = (await api.queued(2)).flatMap(idsOf);
        expect(new Set(ids).size).toBe(1);
        expect((await post("/v1/calls", { ...valid, timezone: "UTC" }, other)).status).toBe(201);
        expect(ids).not.toContain(idsOf((await api.queued(1))[0])[0]);
      });

      it("binds no key to a request that it refuses", async () => {
        const headers = withKey(freshKey());
        await problemOf(await post("/v1/calls", { ...valid, agent_id: "agent_x" }, headers), 422);
        await problemOf(await post("/v1/calls", { ...valid, timezone: "x" }, headers), 422);
        expect((await post("/v1/calls", valid, headers)).status).toBe(201);
        await api.queued(1);
      });

      it.each([
        ["empty", ""],
        ["256 long", "k".repeat(256)],
        ["not ASCII", "ké"],
      ])("answers 422 to a key that is %s", async (_, key) => {
        const response = await post("/v1/calls", valid, withKey(key));
        expect(await pointersOf(response)).toEqual(["Idempotency-Key"]);
        await nothingQueued();
      });

      it("takes a key of 255 characters", async () => {
        expect((await post("/v1/calls", valid, withKey("k".repeat(255)))).status).toBe(201);
        await api.queued(1);
      });
    });
  });
}
