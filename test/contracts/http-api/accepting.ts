import { describe, expect, it } from "vitest";
import { toCallId } from "#shared/calls/ids.ts";
import { asBoth, type HttpApiBench, idsOf, requestIdPattern, requestsOf, valid } from "./setup.ts";

/** Describes the requests that are accepted. */
export function describeAccepting(api: HttpApiBench): void {
  const { post } = api;

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
      expect(idsOf(message)).toEqual(calls.map((_, index) => toCallId(requestId, index)));
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
}
