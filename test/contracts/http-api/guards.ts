import { describe, expect, it } from "vitest";
import { backlogOf, type CallRow, createFirstRow } from "#shared/calls/call-row.ts";
import { dayMs, minuteMs } from "#shared/lib/units.ts";
import { dayKeyOf } from "#shared/policy/day-counts.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { aNumberHash } from "#test/support/call-rows.ts";
import { aCall } from "#test/support/calls.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { guardedCalls, tokens } from "#test/support/environment.ts";
import { type ApiUnderTest, idsOf, problemOf, useHttpApi, valid } from "./setup.ts";

/** Describes the guards of a client on any platform, under `apiEnvironment`. */
export function describeGuardedClients(
  name: string,
  create: () => ApiUnderTest & { documents(): Documents; ledger(): CallLedger },
): void {
  describe(`the API on ${name}, of a client with guards`, () => {
    let made = create();
    const { post, queued } = useHttpApi(() => (made = create()));
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
      await forget(made.documents());
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

    it("refuses calls above those that may wait, by the rows of the ledger", async () => {
      const [documents, ledger] = [made.documents(), made.ledger()];
      await forget(documents);
      const of = { client: "guarded", agentId: "agent_sales" };
      const key = backlogOf(of);
      const rows = Array.from({ length: guardedCalls - 1 }, () => aWaitingRow(of.client));
      await ledger.write(rows.map((next) => ({ next, seen: null })));
      const value = { ...of, mode: "live" as const, usedAt: Date.now(), answers: null };
      const backlog = { kind: "backlog" as const, key, version: "b1", value, expiresAt: null };
      await documents.write([{ next: backlog, seen: null }]);
      // The index of waiting rows may lag a moment behind them.
      await expect.poll(async () => (await ledger.due(allOf(key)))[0]?.length).toBe(rows.length);
      const { errors } = await problemOf(await batch(2), 422);
      const detail = "exceeds the client's limit of 5 calls waiting, which has 1 left";
      expect(errors).toEqual([{ pointer: "", detail }]);
      expect((await batch(1)).status).toBe(201);
      expect(await queued(1)).toHaveLength(1);
      await ledger.purge(rows.map(({ id }) => id));
      await removeCurrent(documents, { kind: "backlog", key });
      await forget(documents);
    });
  });
}

/**
 * Forgets what the client has used, as a platform keeps its documents between tests. The last minute of a day is waited out,
 * as the next day counts anew.
 */
async function forget(documents: Documents): Promise<void> {
  const leftMs = dayMs - (Date.now() % dayMs);
  if (leftMs < minuteMs) await new Promise((passed) => setTimeout(passed, leftMs));
  const day = dayKeyOf({ client: "guarded" }, Date.now());
  await removeCurrent(documents, day, { kind: "client-waiting", key: "guarded" });
}

const allOf = (key: string) => ({
  lanes: [{ key }],
  until: Number.MAX_SAFE_INTEGER,
  each: 100,
});

function aWaitingRow(client: string): CallRow {
  const request = { phone_number: "+12025550123", agent_id: "agent_sales" };
  const call = aCall({ client, acceptedAt: Date.now(), request });
  return {
    ...createFirstRow({ call, numberHash: aNumberHash(), numberTail: "23" }),
    state: "WAITING",
    lane: backlogOf({ client, agentId: request.agent_id }),
    dueAt: Date.now() + dayMs,
    version: "00000000000000000001",
  };
}
