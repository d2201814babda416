import { listDocuments, readRows } from "#test/support/reads.ts";
import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import type { CallState } from "#shared/calls/states.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import type { OperatorApiBench } from "./setup.ts";

/** Describes how operators erase what is known of a number. */
export function itErasesNumbers(api: OperatorApiBench): void {
  const { ask } = api;

  it("erases a number from all of its rows, and leaves every other number's", async () => {
    const requestId = api.requestId;
    const number = `+1303556${String(randomInt(10_000)).padStart(4, "0")}`;
    const states: CallState[] = [
      "WAITING",
      "DIALING",
      "UNKNOWN",
      "PLACED",
      "REJECTED",
      "NEEDS_REVIEW",
    ];
    const calls = [...states, "WAITING" as const].map((_, index): Call => {
      const phone_number = index < states.length ? number : "+13035570001";
      const request = { phone_number, agent_id: "agent_sales", context: { name: "Ada" } };
      const call = aCall({ acceptedAt: Date.now() - 1_000, requestId, batchCalls: 7, request });
      return { ...call, id: toCallId(requestId, index) };
    });
    const rows = calls.map((call, index) => ({
      ...rowIn(states[index] ?? "WAITING", call),
      echo: { name: "Ada" },
    }));
    await writeRows(rows, api.ledger, api.documents);
    const cancelled = async () => {
      const usage = await listDocuments(api.documents, "usage", { limit: 1_000 });
      return usage.reduce((sum, { value }) => sum + (value["CANCELLED"] ?? 0), 0);
    };
    const before = await cancelled();
    const { status, body } = await ask("/erase", { phone_number: number });
    expect((await cancelled()) - before).toBe(1);
    expect([status, body]).toMatchObject([202, { erased: 4 }]);
    expect(Object(body).pending.toSorted()).toEqual([calls[1]?.id, calls[2]?.id]);
    for (const stays of ["30 days", "Backups", "former table", "Keyed hashes", "sent files"])
      expect(Object(body).kept).toContain(stays);
    const after = await readRows(
      api.ledger,
      calls.map(({ id }) => id),
    );
    const left = calls.map(({ id }) => JSON.stringify(after.get(id)).includes("Ada"));
    expect(left).toEqual([false, true, true, false, false, false, true]);
    const stateOf = (n: number) => after.get(calls[n]?.id ?? "")?.state;
    expect([stateOf(0), stateOf(3), stateOf(4)]).toEqual(["CANCELLED", "PLACED", "REJECTED"]);
    expect(after.get(calls[3]?.id ?? "")).toMatchObject({ request: null, numberTail: "" });
    const again = await ask("/erase", { phone_number: number });
    expect(Object(again.body)).toMatchObject({ erased: 0 });
    const redialed = await ask(`/calls/${calls[4]?.id}/redial`, {});
    expect([redialed.status, after.get(calls[4]?.id ?? "")?.state]).toEqual([409, "REJECTED"]);
    const [entry] = (await ask("/audit?limit=2")).body.entries;
    expect(JSON.stringify(entry)).not.toContain(number.slice(1));
    expect((await ask("/erase", { phone_number: "555" })).status).toBe(422);
  });
}
