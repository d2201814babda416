import { describe, expect, it } from "vitest";
import type { CallView } from "#functions/operator/call-view.ts";
import type { CallsPage } from "#functions/operator/calls.ts";
import type { CallState } from "#shared/calls/states.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";

/** Returns the zones that operators see of a call. */
async function zonesOf(
  request: { phone_number: string; timezone?: string },
  state: CallState = "WAITING",
): Promise<CallView["time_zones"] | undefined> {
  const { app, ledger, documents } = createTestApi();
  const call = aCall({ request: { agent_id: "agent_sales", ...request } });
  await writeRows([rowIn(state, call)], ledger, documents);
  const headers = { authorization: `Bearer ${tokens.operator}` };
  const answer = await app.request("/operator/calls", { headers });
  const { calls }: CallsPage = await answer.json();
  return calls[0]?.time_zones;
}

describe("the time zones of a call", () => {
  it("are those of its number", async () => {
    expect(await zonesOf({ phone_number: "+12125550100" })).toEqual(["America/New_York"]);
    expect(await zonesOf({ phone_number: "+33142555001" })).toEqual(["Europe/Paris"]);
    const tollFree = await zonesOf({ phone_number: "+18005550100" });
    expect(tollFree?.length).toBeGreaterThan(10);
  });

  it("are its own alone, if it has one", async () => {
    const timezone = "America/Los_Angeles";
    expect(await zonesOf({ phone_number: "+12125550100", timezone })).toEqual([timezone]);
  });

  it("are its own and its number's, where its own is of another country", async () => {
    const timezone = "Asia/Kolkata";
    expect(await zonesOf({ phone_number: "+12125550100", timezone })).toEqual([
      timezone,
      "America/New_York",
    ]);
  });

  it("are none where the number is erased", async () => {
    expect(await zonesOf({ phone_number: "+12125550100" }, "PLACED")).toEqual([]);
  });
});
