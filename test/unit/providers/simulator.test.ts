import { describe, expect, it } from "vitest";
import { createProviders } from "#shared/providers/providers.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { aCall } from "#test/support/calls.ts";

describe("the simulator", () => {
  const dialedAt = Date.parse("2026-11-21T00:00:00Z");
  const parsed = routeKinds.parseRoute({ account: "simulator" }, { provider: "simulator" });
  if ("issues" in parsed) throw new Error("the route is wrong");
  const { route } = parsed;
  let time = dialedAt;
  const lines: string[] = [];
  const create = () =>
    createProviders(
      { environment: {}, fetch, now: () => time, print: (line) => lines.push(line) },
      [route],
    )(route);
  const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };

  /** Dials a number, and reads the result so many seconds later, in another process. */
  async function resultOf(phone_number: string, seconds: number) {
    time = dialedAt;
    const call = aCall({ request: { ...aCall().request, phone_number } });
    const outcome = await create().dial(
      { call, attempt: 1, timeoutSeconds: 1, guarded: (own) => own },
      route,
    );
    const providerCallId = outcome.kind === "placed" ? (outcome.providerCallId ?? "") : "";
    time += seconds * 1000;
    const placed = { id: call.id, attempt: 1, providerCallId };
    return { placed, result: await create().readResult?.(placed, route) };
  }

  it("lets a phone ring, be answered, and be hung up", async () => {
    const answeredAt = dialedAt + 3000;
    expect((await resultOf("+12025550123", 1)).result).toEqual({ ...nothing, status: "live" });
    expect((await resultOf("+12025550123", 5)).result).toEqual({
      ...nothing,
      status: "live",
      answeredAt,
    });
    expect((await resultOf("+12025550123", 10)).result).toEqual({
      status: "completed",
      human: null,
      word: "completed",
      answeredAt,
      endedAt: dialedAt + 10_000,
      seconds: 7,
    });
  });

  it.each([
    ["+12025550127", { status: "voicemail", human: false, seconds: 7 }],
    ["+12025550128", { status: "no_answer", answeredAt: null, endedAt: dialedAt + 3000 }],
    ["+12025550129", { status: "busy", answeredAt: null, endedAt: dialedAt + 3000 }],
  ])("ends a call to %s by its last digit", async (number, result) => {
    expect((await resultOf(number, 10)).result).toMatchObject(result);
  });

  it("knows nothing of another call", async () => {
    const { placed } = await resultOf("+12025550123", 10);
    for (const other of [
      { ...placed, id: aCall().id },
      { ...placed, providerCallId: "CA1" },
    ]) {
      expect(await create().readResult?.(other, route)).toBeUndefined();
    }
  });
});
