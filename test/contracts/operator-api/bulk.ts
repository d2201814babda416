import { expect, it } from "vitest";
import type { Bulk } from "#functions/operator/bulk.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { cancelAsClient, type OperatorApiBench } from "./setup.ts";

/** Describes operators' actions on all calls that fit a filter, and the list of what needs review. */
export function itActsInBulk(api: OperatorApiBench): void {
  const { ask, callIn, rowOf } = api;

  /** Lets the clock go on: the work is of calls that were accepted in an earlier millisecond. */
  const passMoment = () => new Promise((passed) => setTimeout(passed, 2));

  /** Repeats a request with the cursor of each answer until there is none. */
  async function bulk(body: object) {
    const total = { found: 0, done: 0, refused: 0 };
    let cursor: string | undefined;
    for (let answers = 0; answers < 50; answers++) {
      const answer = await ask("/bulk", { ...body, cursor });
      expect(answer.status).toBe(200);
      const { found, done, refused, cursor: next }: Bulk = Object(answer.body);
      total.found += found;
      total.done += done;
      total.refused += Object.values(refused).reduce((sum, one) => sum + one, 0);
      cursor = next;
      if (cursor === undefined) return total;
    }
    throw new Error("the work does not end");
  }

  it("counts and cancels the waiting calls of a request, and no other call", async () => {
    const calls = await Promise.all(Array.from({ length: 7 }, () => callIn("WAITING")));
    const placed = await callIn("PLACED");
    await passMoment();
    const body = { action: "cancel", filter: { request_id: api.requestId }, limit: 3 };
    expect(await bulk({ ...body, dry_run: true })).toEqual({ found: 7, done: 0, refused: 0 });
    expect((await rowOf(calls[0] ?? placed))?.state).toBe("WAITING");
    expect(await bulk(body)).toEqual({ found: 7, done: 7, refused: 0 });
    for (const call of calls) {
      const row = await rowOf(call);
      expect(row?.state).toBe("CANCELLED");
      expect(row?.history.at(-1)).toMatchObject({ by: "operator" });
    }
    expect((await rowOf(placed))?.state).toBe("PLACED");
  });

  it("redials the rejected calls of an agent once, though each request is repeated", async () => {
    const calls = await Promise.all(Array.from({ length: 3 }, () => callIn("REJECTED")));
    const body = { action: "redial", filter: { state: "REJECTED", agent_id: api.agent } };
    await api.queued(0); // removes what other tests have left
    await passMoment();
    let { cursor } = (await ask("/bulk", body)).body;
    // A ledger with many rejected calls of others has pages without any of these.
    for (let answers = 0; answers < 20 && cursor !== undefined; answers++) {
      const request = { ...body, cursor };
      await ask("/bulk", request);
      cursor = (await ask("/bulk", request)).body.cursor;
    }
    const messages = await api.queued(6);
    const rows = await Promise.all(calls.map(rowOf));
    const redialed = rows.map((row) => requestIdOf(row?.redialedAs ?? ""));
    const sent = messages.map((message) => ("requestId" in message ? message.requestId : ""));
    expect([...new Set(sent)].toSorted()).toEqual(redialed.toSorted());
    // None of them has a row.
    for (const row of rows) expect(await cancelAsClient(api, row?.redialedAs ?? "")).toBe(200);
  });

  it("lists what needs review, oldest first, page by page", async () => {
    const now = Date.now();
    const older = await callIn("NEEDS_REVIEW", { acceptedAt: now - 1000 });
    const newer = await callIn("NEEDS_REVIEW", { acceptedAt: now });
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const place = cursor === undefined ? "" : `&cursor=${cursor}`;
      const { body } = await ask(`/review?limit=50${place}`);
      ids.push(...body.calls.map(({ id }) => id));
      cursor = body.cursor;
    } while (cursor !== undefined);
    expect(ids).toEqual(ids.toSorted());
    expect(ids.filter((id) => [older.id, newer.id].includes(id))).toEqual(
      [older.id, newer.id].toSorted(),
    );
  });
}
