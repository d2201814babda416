import * as fc from "fast-check";
import { expect, it } from "vitest";
import {
  toJson,
  createRequestMessage,
  messageSchema,
  toCalls,
} from "#shared/ports/call-messages.ts";
import { anyCharacter } from "#test/support/any-character.ts";

/** The API refuses this key, and so leaves no message with it. */
const name = fc.string().filter((key) => key !== "__proto__");
const request = fc.record(
  {
    phone_number: fc.string(),
    agent_id: fc.oneof(fc.constantFrom("a", "b"), fc.string({ unit: "grapheme" })),
    context: fc.dictionary(name, fc.string({ unit: anyCharacter })),
    timezone: fc.string(),
  },
  { requiredKeys: ["phone_number", "agent_id"], noNullPrototype: true },
);
const accepted = { requestId: "01KAJ6Y5G0QZ3N4T7V8W9XABCD", client: 'c"rm', acceptedAt: 12 };

it("is read as all calls of a request, whatever spaces its body has", () => {
  fc.assert(
    fc.property(
      fc.oneof(request, fc.array(request, { minLength: 1 })),
      fc.nat({ max: 3 }),
      (body, spaces) => {
        const text = `\n${JSON.stringify(body, null, spaces)} `;
        const message = toJson(
          createRequestMessage(accepted, { text, isBatch: Array.isArray(body) }),
        );
        const parsed: unknown = JSON.parse(text);
        const requests: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
        const read = messageSchema.parse(JSON.parse(message));
        expect(read).toEqual({
          kind: "calls",
          ...accepted,
          calls: requests.map((one, index) => ({ index, request: one })),
        });
        if (read.kind !== "calls") return;
        const agents = toCalls(read).flatMap((call) =>
          call.first === undefined ? [] : [[call.request.agent_id, call.first]],
        );
        const all = new Set(toCalls(read).map((call) => call.request.agent_id));
        const firsts = [...all].map((agent, index) => [agent, index === 0 ? "request" : "agent"]);
        expect(agents).toEqual(firsts);
      },
    ),
  );
});

it("names a number that a body has twice as the API has read it", () => {
  const text = '{"phone_number":"+12025550123","phone_number":"+12025550124","agent_id":"a"}';
  const message = messageSchema.parse(
    JSON.parse(toJson(createRequestMessage(accepted, { text, isBatch: false }))),
  );
  expect(message).toMatchObject({ calls: [{ request: JSON.parse(text) }] });
});
