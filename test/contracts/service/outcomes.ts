import { expect, it } from "vitest";
import { until } from "#test/support/service.ts";
import { callsTo, numberOf, post, type ServiceBench } from "./setup.ts";

/** Each call handed over once, and what becomes of each answer. */
export function itHandsCallsOver(bench: ServiceBench): void {
  it("hands one call, a batch of 100 and a batch of 600 to the receiver, each call once", async () => {
    const statuses = [
      await post(bench.service, "/v1/calls", callsTo("one", 1)[0]),
      await post(bench.service, "/v1/calls/batch", callsTo("hundred", 100)),
      await post(bench.service, "/v1/calls/batch", callsTo("hundreds", 600)),
    ].map(({ status }) => status);
    expect(statuses).toEqual([201, 201, 201]);
    await until(() => bench.receiver.to("/dial").length >= 701);
    const bodies = bench.receiver
      .to("/dial")
      .map(({ text }): Record<string, unknown> => JSON.parse(text));
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(701);
    for (const [agent, count] of [
      ["one", 1],
      ["hundred", 100],
      ["hundreds", 600],
    ] as const) {
      const numbers = bodies
        .filter(({ agent_id }) => agent_id === agent)
        .map((one) => one["phone_number"]);
      expect(numbers).toHaveLength(count);
      expect(new Set(numbers)).toEqual(
        new Set(callsTo(agent, count).map((one) => one.phone_number)),
      );
    }
    expect(bodies.find(({ agent_id }) => agent_id === "one")).toEqual({
      id: expect.stringMatching(/^call_[0-9A-HJKMNP-TV-Z]{26}_00000$/),
      request_id: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
      phone_number: numberOf(0),
      agent_id: "one",
      context: { secret: `context of ${numberOf(0)}` },
      timezone: null,
      accepted_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
  });

  it("dials once what is posted again under one Idempotency-Key", async () => {
    const before = bench.receiver.to("/dial").length;
    const batch = callsTo("repeated", 100);
    for (let n = 0; n < 3; n++) {
      const { status } = await post(bench.service, "/v1/calls/batch", batch, {
        "idempotency-key": "batch",
      });
      expect(status).toBe(201);
    }
    const twenty = await Promise.all(
      Array.from({ length: 20 }, () =>
        post(bench.service, "/v1/calls", callsTo("repeated", 1)[0], { "idempotency-key": "call" }),
      ),
    );
    expect(twenty.map(({ status }) => status)).toEqual(twenty.map(() => 201));
    const other = await post(bench.service, "/v1/calls", callsTo("other", 1)[0], {
      "idempotency-key": "call",
    });
    expect(other.status).toBe(422);
    await until(() => bench.receiver.to("/dial").length >= before + 101);
    await new Promise((next) => setTimeout(next, 4000));
    expect(bench.receiver.to("/dial").length).toBe(before + 101);
  });

  it("refuses a batch for one bad element, and hands over none of it", async () => {
    const before = bench.receiver.received.length;
    const calls: object[] = callsTo("bad", 1000);
    calls[512] = { phone_number: "not a number", agent_id: "bad" };
    const response = await post(bench.service, "/v1/calls/batch", calls);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ errors: [{ pointer: "/512/phone_number" }] });
    await new Promise((next) => setTimeout(next, 2000));
    expect(bench.receiver.received.length).toBe(before);
  });

  it("never repeats a call that may have been placed: it is UNKNOWN, then NEEDS_REVIEW with its payload", async () => {
    const agents = ["fails", "resets", "hangs", "redirects"];
    for (const agent of agents) await post(bench.service, "/v1/calls", callsTo(agent, 1)[0]);
    await until(() => agents.every((agent) => bench.receiver.to(`/${agent}`).length > 0));
    const mine = async () =>
      (await bench.platform.rows(bench.service)).filter((row) => agents.includes(row.agentId));
    await until(async () => (await mine()).some(({ state }) => state === "UNKNOWN"));
    await until(async () => (await mine()).every(({ state }) => state === "NEEDS_REVIEW"));
    for (const row of await mine()) {
      expect(row.request).toMatchObject(callsTo(row.agentId, 1)[0] ?? {});
      expect(row.attempt).toBe(1);
    }
    expect(agents.map((agent) => bench.receiver.to(`/${agent}`).length)).toEqual([1, 1, 1, 1]);
    expect(bench.receiver.to("/elsewhere")).toEqual([]);
  });

  it("sends a call that was surely not placed once more, when the receiver asked for it", async () => {
    for (const agent of ["busy", "unavailable"]) {
      await post(bench.service, "/v1/calls", callsTo(agent, 1)[0]);
    }
    await until(() =>
      ["/busy", "/unavailable"].every((path) => bench.receiver.to(path).length === 2),
    );
    const [first, second] = bench.receiver.to("/busy");
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2000);
    await new Promise((next) => setTimeout(next, 3000));
    expect(bench.receiver.to("/busy")).toHaveLength(2);
  });

  it("sends a refused call once, and an unknown one to an idempotent receiver again", async () => {
    await post(bench.service, "/v1/calls", callsTo("refuses", 1)[0]);
    await post(bench.service, "/v1/calls", callsTo("again", 1)[0]);
    await until(() => bench.receiver.to("/again").length === 2);
    const [first, second] = bench.receiver.to("/again");
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    const mine = async () =>
      (await bench.platform.rows(bench.service)).filter(({ agentId }) =>
        ["refuses", "again"].includes(agentId),
      );
    await until(async () => (await mine()).every(({ state }) => state !== "DIALING"));
    const states = (await mine()).map(({ agentId, state }) => [agentId, state]);
    expect(Object.fromEntries(states)).toEqual({ again: "PLACED", refuses: "REJECTED" });
    expect(bench.receiver.to("/refuses")).toHaveLength(1);
  });
}
