import { readRows } from "#test/support/reads.ts";
import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import type { OperatorApiBench } from "./setup.ts";

/** Describes how operators find numbers that are written in another form. */
export function itFindsSpelledNumbers(api: OperatorApiBench): void {
  const { ask } = api;
  const putCall = async (phone_number: string): Promise<Call> => {
    const request = { phone_number, agent_id: "agent_sales", context: { name: "Ada" } };
    const call = aCall({ acceptedAt: Date.now() - 1_000, request });
    await writeRows([rowIn("WAITING", call)], api.ledger, api.documents);
    return call;
  };
  const found = async (phone_number: string): Promise<string[]> => {
    const { body } = await ask("/calls/search", { phone_number });
    return Object(body).calls.map(({ id }: { id: string }) => id);
  };
  const isListed = async (phone_number: string): Promise<unknown> => {
    const { body } = await ask("/do-not-call/check", { phone_number });
    return Object(body).listed;
  };
  const fourDigits = () => String(randomInt(10_000)).padStart(4, "0");

  it("takes a Mexican number's former form for the number", async () => {
    const rest = `55555${fourDigits()}1`;
    const [former, today] = [`+521${rest}`, `+52${rest}`];
    const call = await putCall(today);
    expect(await found(former)).toEqual([call.id]);
    await ask("/do-not-call", { add: [former] });
    expect([await isListed(former), await isListed(today)]).toEqual([true, true]);
    const { body } = await ask("/find-listed", { phone_numbers: [today] });
    expect(Object(body).listed).toEqual([0]);
    await ask("/do-not-call", { remove: [today] });
    expect([await isListed(former), await isListed(today)]).toEqual([false, false]);
    const erased = await ask("/erase", { phone_number: former });
    expect(Object(erased.body)).toMatchObject({ erased: 1, may_also_be: [] });
    const rows = await readRows(api.ledger, [call.id]);
    expect(rows.get(call.id)).toMatchObject({ state: "CANCELLED", request: null });
  });

  it("shows a Brazilian number without its ninth digit, and erases it only when asked", async () => {
    const rest = `9876${fourDigits()}`;
    const [long, short] = [`+55119${rest}`, `+5511${rest}`];
    const call = await putCall(short);
    expect(await found(long)).toEqual([call.id]);
    await ask("/do-not-call", { add: [short] });
    expect([await isListed(long), await isListed(short)]).toEqual([true, true]);
    await ask("/do-not-call", { remove: [long] });
    expect([await isListed(long), await isListed(short)]).toEqual([true, true]);
    const erased = await ask("/erase", { phone_number: long });
    expect(Object(erased.body)).toMatchObject({
      erased: 0,
      may_also_be: [{ phone_number: short, calls: [call.id] }],
    });
    const rows = await readRows(api.ledger, [call.id]);
    expect(JSON.stringify(rows.get(call.id))).toContain("Ada");
    await ask("/erase", { phone_number: short });
    const after = await readRows(api.ledger, [call.id]);
    expect(after.get(call.id)).toMatchObject({ state: "CANCELLED", request: null });
  });
}
