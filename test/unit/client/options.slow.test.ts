import { describe, expect, it } from "vitest";
import { createClient } from "#infra/client/index.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const id = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";
const options = { baseUrl: "https://calls.example.com", token: "oc_token" };
const client = createClient({
  ...options,
  fetch: async () => expect.unreachable("nothing is sent"),
});
/** Passes what a program in JavaScript may pass. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the types refuse
const any = (value: unknown) => value as never;

describe("a wrong option of a client", () => {
  it.each<[string, object]>([
    ["baseUrl", { baseUrl: "calls.example.com" }],
    ["baseUrl", { baseUrl: "http://calls.example.com" }],
    ["baseUrl", { baseUrl: 7 }],
    ["token", { token: "" }],
    ["token", { token: "oc_a\nb" }],
    ["fetch", { fetch: true }],
    ["retry", { retry: 3 }],
    ["triesMax", { retry: { triesMax: 0 } }],
    ["msMax", { retry: { msMax: Number.NaN } }],
  ])("fails at once by its name: %s of %j", (name, wrong) => {
    expect(() => createClient(any({ ...options, ...wrong }))).toThrow(RangeError);
    expect(() => createClient(any({ ...options, ...wrong }))).toThrow(
      new RegExp(`^${name} of (createClient|retry) `),
    );
  });

  it("is unknown or missing", () => {
    expect(() => createClient(any({ ...options, baseURL: "https://x" }))).toThrow(
      new TypeError("createClient has no option baseURL. It has baseUrl, token, fetch, retry."),
    );
    expect(() => createClient(any({ ...options, retry: { tries: 3 } }))).toThrow(/no option tries/);
    expect(() => createClient(any({ token: "oc_token" }))).toThrow(/^baseUrl of .* missing/);
  });
});

describe("a wrong option of a method", () => {
  it.each<[string, object]>([
    ["idempotencyKey", { idempotencyKey: "a,b" }],
    ["idempotencyKey", { idempotencyKey: "" }],
    ["notBefore", { notBefore: "2026-11-21 09:00" }],
    ["notBefore", { notBefore: "2026-11-21T09:00:00" }], // without an offset it is of no zone
    ["notBefore", { notBefore: new Date(Number.NaN) }],
    ["notBefore", { notBefore: 1_795_251_600 }],
    ["urgent", { urgent: "yes" }],
    ["campaign", { campaign: "a\u202eb" }],
    ["campaign", { campaign: " spring" }],
    ["signal", { signal: new AbortController() }],
    ["msMax", { msMax: "5s" }],
  ])("fails before anything is sent, by its name: %s", async (name, wrong) => {
    const message = new RegExp(`^${name} of placeCall`);
    for (const work of [
      client.placeCall(call, any(wrong)),
      client.placeCalls([call], any(wrong)),
    ]) {
      await expect(work).rejects.toThrow(RangeError);
      await expect(work).rejects.toThrow(message);
    }
  });

  it("fails if it is misspelt, and lists the options that exist", async () => {
    await expect(client.placeCall(call, any({ notbefore: new Date() }))).rejects.toThrow(
      new TypeError(
        "placeCall has no option notbefore. It has signal, msMax, idempotencyKey, notBefore, urgent, campaign.",
      ),
    );
    await expect(client.waitForRequest(id, any({ timeout: 5 }))).rejects.toThrow(/option timeout/);
    await expect(client.cancelRequest(id, any({ index: [1] }))).rejects.toThrow(/option index\b/);
    await expect(client.cancelRequest(id, { indexes: [-1] })).rejects.toThrow(/^indexes of/);
    expect(() => client.listRequests(any({ since: "2026-11-21" }))).toThrow(/no option since/);
    expect(() => client.listCalls(id, any({ states: "PLACED" }))).toThrow(/no option states/);
  });

  it("never shows its value, which may be a secret", async () => {
    const error = await client
      .placeCall(call, { idempotencyKey: "+12025550123,oc_x" })
      .catch(String);
    expect(error).not.toMatch(/2025550123|oc_x/);
  });

  it.each(["", "req_1", "01KAJ6Y5G0QZ3N4T7V8W9XABC", "../me", `${id}/cancel`, undefined])(
    "fails at once for an invalid id: %j",
    async (wrong) => {
      await expect(client.waitForRequest(any(wrong))).rejects.toThrow(/^requestId must be/);
      await expect(client.getRequest(any(wrong))).rejects.toThrow(/^requestId must be/);
      await expect(client.cancelRequest(any(wrong))).rejects.toThrow(/^requestId must be/);
      expect(() => client.listCalls(any(wrong))).toThrow(/^requestId must be/);
      await expect(client.getCall(any(wrong))).rejects.toThrow(/^callId must be/);
    },
  );

  it.each(["", "A", "a/b", "..", "-a", "x".repeat(33)])(
    "fails at once for an invalid name of a receiver: %j",
    async (name) => {
      await expect(client.receivers.rotateSecret(name)).rejects.toThrow(/^name must/);
      await expect(client.receivers.delete(name)).rejects.toThrow(/^name must/);
      expect(() => client.receivers.listDeliveries(name)).toThrow(/^name must/);
    },
  );

  it("fails for values that are not calls", async () => {
    await expect(client.placeCall(any(undefined))).rejects.toThrow(/^call of placeCall/);
    await expect(client.placeCall(any([call]))).rejects.toThrow(/^call of placeCall/);
    await expect(client.placeCalls(any(call))).rejects.toThrow(/^calls of placeCalls/);
  });
});
