import { describe, expect, it } from "vitest";
import { messageSchema, toCalls } from "#shared/ports/call-messages.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";

/** Starts an API that allows Mexican numbers. */
function start() {
  const plan = { ...testPlan, destinations: { allow: ["MX", "US"] } };
  const { app, queue } = createTestApi({
    environment: { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) },
  });
  const post = async (phone_number: string, key?: string) => {
    const answer = await app.request("/v1/calls", {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokens.crm}`,
        "content-type": "application/json",
        ...(key !== undefined && { "idempotency-key": key }),
      },
      body: JSON.stringify({ phone_number, agent_id: "agent_sales" }),
    });
    return answer.status;
  };
  return { post, queue };
}

describe("a number in its former form", () => {
  it("is dialed in its present one", async () => {
    const { post, queue } = start();
    expect(await post("+5215512345678")).toBe(201);
    const texts = await Promise.all(queue.take().map((one) => one.open()));
    const numbers = texts.map((text) => {
      const message = messageSchema.parse(JSON.parse(text));
      return message.kind === "calls"
        ? toCalls(message).map((call) => call.request.phone_number)
        : [];
    });
    expect(numbers).toEqual([["+525512345678"]]);
  });

  it("is another request under one key", async () => {
    const { post } = start();
    expect(await post("+5215512345678", "a-key-of-one-call")).toBe(201);
    expect(await post("+5215512345678", "a-key-of-one-call")).toBe(201);
    expect(await post("+525512345678", "a-key-of-one-call")).toBe(422);
  });

  it.each(["+52155123456", "+120255501", "+12025550123456"])(
    "or with digits too few or too many is refused: %s",
    async (number) => expect(await start().post(number)).toBe(422),
  );
});
