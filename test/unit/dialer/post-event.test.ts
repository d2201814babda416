import { clientNamed } from "#shared/calls/ids.ts";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { createPostEvent } from "#functions/dialer/runtime/post-event.ts";
import { findReceiver, receiverSchema } from "#shared/dial-plan/receivers.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { freePort } from "#test/support/service.ts";

const event = { id: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000.1", body: '{"type":"call.placed"}' };
function post(url: string, secrets?: string, now = Date.now()) {
  const events = { crm: receiverSchema.parse({ url }) };
  const receiver = findReceiver(clientNamed("crm"), { events });
  if (receiver === undefined) throw new Error("the client has one");
  return createPostEvent(
    { events },
    { environment: { EVENTS_CRM_SECRET: secrets }, fetch, now: () => now },
  )(receiver, event);
}

describe("posting an event", () => {
  it("sends the body as it is, under its id", async () => {
    const receiver = await startTestReceiver((_request, response) => response.writeHead(204).end());
    expect(await post(`${receiver.url}/events?of=crm`)).toMatchObject({ status: 204, text: "" });
    expect(receiver.received).toMatchObject([
      {
        method: "POST",
        path: "/events?of=crm",
        text: event.body,
        headers: { "content-type": "application/json", "webhook-id": event.id },
      },
    ]);
    expect(receiver.received[0]?.headers).not.toHaveProperty("webhook-signature");
  });

  it("follows no redirect, wherever it leads", async () => {
    const inside = await startTestReceiver((_request, response) => response.end("a secret"));
    const receiver = await startTestReceiver((_request, response) =>
      response.writeHead(307, { location: `${inside.url}/metadata` }).end(),
    );
    expect(await post(receiver.url)).toMatchObject({ status: 307 });
    expect(inside.received).toEqual([]);
  });

  it("reads a kilobyte of an answer that never ends, and hangs up", async () => {
    let isClosed = Promise.resolve<unknown>(undefined);
    const receiver = await startTestReceiver((_request, response) => {
      isClosed = once(response, "close");
      response.writeHead(200).write("x".repeat(5_000));
    });
    const answer = await post(receiver.url);
    expect(answer).toEqual({ status: 200, retryAfterMs: undefined, text: "x".repeat(1024) });
    await isClosed;
  });

  it.each([
    ["120", 120_000],
    ["Sat, 21 Nov 2026 09:30:00 GMT", 1_800_000],
    ["soon", undefined],
  ])("returns how long the receiver asks to wait: %s", async (retryAfter, retryAfterMs) => {
    const receiver = await startTestReceiver((_request, response) =>
      response.writeHead(503, { "retry-after": retryAfter }).end(),
    );
    const now = Date.parse("2026-11-21T09:00:00Z");
    expect(await post(receiver.url, undefined, now)).toMatchObject({ status: 503, retryAfterMs });
  });

  it("says why no answer came, without a word of the error's message", async () => {
    const closed = `http://127.0.0.1:${await freePort()}/`;
    expect(await post(closed)).toEqual({ error: "ECONNREFUSED" });
    const receiver = await startTestReceiver((_request, response) => void response.destroy());
    expect(await post(receiver.url)).toMatchObject({ error: expect.stringMatching(/^[\w]+$/) });
  });

  it.each(["secret", "whsec_c2hvcnQ=", `whsec_${Buffer.alloc(32).toString("base64")},`])(
    "is refused with the secret %j, before anything is posted",
    (secret) => {
      const events = { crm: receiverSchema.parse({ url: "https://example.com/" }) };
      const create = () =>
        createPostEvent(
          { events },
          { environment: { EVENTS_CRM_SECRET: secret }, fetch, now: Date.now },
        );
      expect(create).toThrow("EVENTS_CRM_SECRET must be whsec_ and 24 to 64 bytes in base64");
    },
  );
});
