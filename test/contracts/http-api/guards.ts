import { describe, expect, it } from "vitest";
import { dayKeyOf } from "../../../shared/policy/day-counts.ts";
import type { Documents } from "../../../shared/ports/documents.ts";
import { removeCurrent } from "../../support/documents.ts";
import { guardedCalls, tokens } from "../../support/environment.ts";
import { type ApiUnderTest, idsOf, problemOf, useHttpApi, valid } from "./setup.ts";

/** Describes the guards of a client on any platform, under `apiEnvironment`. */
export function describeGuardedClients(
  name: string,
  create: () => ApiUnderTest & { documents(): Documents },
): void {
  describe(`the API on ${name}, of a client with guards`, () => {
    const { post, queued } = useHttpApi(create);
    const batch = (count: number, key?: string) =>
      post(
        "/v1/calls/batch",
        Array.from({ length: count }, () => valid),
        {
          authorization: `Bearer ${tokens.guarded}`,
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
      );

    it("refuses calls above a limit, however many come at once, and answers repeats", async () => {
      // A platform keeps its documents between tests.
      const day = dayKeyOf({ client: "guarded" }, Date.now());
      await removeCurrent(create().documents(), day, { kind: "client-waiting", key: "guarded" });
      const key = crypto.randomUUID();
      const first = await batch(2, key);
      expect(first.status).toBe(201);
      const refused = await batch(guardedCalls, crypto.randomUUID());
      expect((await problemOf(refused, 422)).errors).toEqual([
        {
          pointer: "",
          detail: expect.stringMatching(/^exceeds the client's callsPerDay of 5, which has 3 left/),
        },
      ]);
      const one = await Promise.all(Array.from({ length: 8 }, () => batch(1)));
      const accepted = one.filter(({ status }) => status === 201).length;
      expect(accepted).toBeLessThanOrEqual(guardedCalls - 2);
      for (let left = guardedCalls - 2 - accepted; left > 0; left--) {
        expect((await batch(1)).status).toBe(201);
      }
      expect((await batch(1)).status).toBe(422);
      const again = await batch(2, key);
      expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
      expect((await queued(guardedCalls)).flatMap(idsOf)).toHaveLength(guardedCalls + 2);
    });
  });
}
