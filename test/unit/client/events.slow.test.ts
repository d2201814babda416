import { Webhook } from "standardwebhooks";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type OutboundCallsEvent, verifyEvent } from "#infra/client/index.ts";
import { eventExamples } from "#infra/generate/examples.ts";
import type { eventTypes } from "#shared/calls/call-event.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;

function signed(body: string, { by = secret, at = new Date() } = {}) {
  return {
    "webhook-id": "call_x.1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(by).sign("call_x.1", at, body),
  };
}

describe("an event", () => {
  it.each(Object.values(eventExamples))(
    "is returned with its id if the service has signed it: $type",
    (event) => {
      const body = JSON.stringify(event);
      const at = new Date();
      const headers = signed(body, { at });
      const verified = { ...event, id: "call_x.1" };
      expect(verifyEvent(headers, body, secret)).toEqual(verified);
      expect(verifyEvent(new Headers(headers), body, secret)).toEqual(verified);
      const asOthersWrite = { "Webhook-Id": "call_x.1", ...headers, accept: undefined };
      expect(verifyEvent(asOthersWrite, body, secret)).toEqual(verified);
      const rotated = `${headers["webhook-signature"]} ${signed(body, { by: other, at })["webhook-signature"]}`;
      expect(verifyEvent({ ...headers, "webhook-signature": rotated }, body, other)).toEqual(
        verified,
      );
    },
  );

  it("is refused if it is forged, changed, old, of the future or unsigned", () => {
    const body = JSON.stringify(eventExamples["call.placed"]);
    const [old, late] = [-6, 6].map((minutes) => new Date(Date.now() + minutes * 60_000));
    expect(() => verifyEvent(signed(body, { by: other }), body, secret)).toThrow();
    expect(() => verifyEvent(signed(body), body.replace("placed", "ended"), secret)).toThrow();
    for (const at of [old, late]) {
      expect(() => verifyEvent(signed(body, { at: at ?? new Date(0) }), body, secret)).toThrow();
    }
    expect(() => verifyEvent({}, body, secret)).toThrow();
    expect(() => verifyEvent(signed(body), body, "whsec_")).toThrow();
  });

  it("is verified by either secret while one takes the other's place", () => {
    const body = JSON.stringify(eventExamples["call.placed"]);
    for (const by of [secret, other]) {
      const headers = signed(body, { by });
      expect(verifyEvent(headers, body, [other, secret])).toMatchObject({ id: "call_x.1" });
      expect(verifyEvent(headers, body, `${other},${secret}`)).toMatchObject({ id: "call_x.1" });
    }
    const third = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
    for (const secrets of [[third, other], [], [secret, "whsec_"], ""]) {
      expect(() => verifyEvent(signed(body), body, secrets)).toThrow();
    }
  });

  it("of a later version's type is unknown, with all that was sent", () => {
    const sent = { type: "call.teleported", timestamp: "2027-01-01T00:00:00Z", data: { id: "x" } };
    const body = JSON.stringify(sent);
    expect(verifyEvent(signed(body), body, secret)).toEqual({
      ...sent,
      type: "unknown",
      sentType: "call.teleported",
      id: "call_x.1",
    });
    const test = JSON.stringify({ ...sent, type: "receiver.test" });
    expect(verifyEvent(signed(test), test, secret)).toMatchObject({ type: "receiver.test" });
  });

  it("is told apart by its type", () => {
    type Known = Exclude<OutboundCallsEvent["type"], "unknown" | "receiver.test">;
    expectTypeOf<Known>().toEqualTypeOf<(typeof eventTypes)[number]>();
    const resultOf = (event: OutboundCallsEvent) => {
      if (event.type === "call.ended") return event.data.result.status;
      if (event.type === "unknown") return event.sentType;
      if (event.type === "receiver.test") return event.type;
      return event.type === "request.finished" ? event.data.counts.by_state : event.data.state;
    };
    expectTypeOf(resultOf).returns.not.toBeAny();
  });
});
