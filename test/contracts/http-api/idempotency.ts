import { describe, expect, it } from "vitest";
import { tokens } from "#test/support/environment.ts";
import { type HttpApiBench, idsOf, pointersOf, problemOf, valid } from "./setup.ts";

/** Describes requests that are repeated under a key. */
export function describeIdempotency(api: HttpApiBench): void {
  const { post, nothingQueued } = api;

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
      ["two keys, as a platform joins two headers", "one, two"],
      ["two keys, as another platform joins them", "one,one"],
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
}
