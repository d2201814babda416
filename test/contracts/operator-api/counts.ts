import { expect, it } from "vitest";
import type { OperatorApiBench } from "./setup.ts";

/** Describes the counts of calls. */
export function itCountsCalls(api: OperatorApiBench): void {
  const { ask, callIn } = api;

  it("counts what operators did by state and hour, and what stands", async () => {
    const { agent } = api;
    const count = async (state: string) => {
      const { counts } = (await ask("/counts")).body;
      return counts.filter((one) => one.state === state).reduce((sum, one) => sum + one.count, 0);
    };
    const before = [await count("CANCELLED"), await count("PLACED")];
    const [one, two] = [await callIn("NEEDS_REVIEW"), await callIn("NEEDS_REVIEW")];
    await callIn("WAITING");
    await callIn("WAITING");
    const current = (await ask("/counts")).body;
    expect(Object.keys(current.current)).toEqual(["DIALING", "UNKNOWN", "NEEDS_REVIEW"]);
    expect(current.current["NEEDS_REVIEW"]).toBeGreaterThanOrEqual(2);
    await ask(`/calls/${one.id}/resolve`, { outcome: "placed" });
    await ask(`/calls/${two.id}/resolve`, { outcome: "not_placed" });
    await ask("/cancel", { agent_id: agent });
    expect([await count("CANCELLED"), await count("PLACED")]).toEqual([
      (before[0] ?? 0) + 3,
      (before[1] ?? 0) + 1,
    ]);
    // The results are of the same documents, and each call has ended once.
    const { body } = await ask("/results?by=hour");
    expect(body).toMatchObject({
      total: { placed: await count("PLACED"), cancelled: await count("CANCELLED") },
      minutes: 60,
      ends: expect.arrayContaining([expect.objectContaining({ outcome: "CANCELLED" })]),
    });
    expect((await ask("/campaigns")).status).toBe(200);
    expect((await ask("/campaign?name=spring&client=crm")).status).toBe(404);
    await callIn("NEEDS_REVIEW");
    expect((await ask("/needs")).body).toMatchObject({
      unread: [],
      needs: expect.arrayContaining([expect.objectContaining({ kind: "review" })]),
    });
  });
}
