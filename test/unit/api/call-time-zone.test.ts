import { describe, expect, it } from "vitest";
import type { CallView } from "../../../functions/api/operator/call-view.ts";
import type { CallsPage } from "../../../functions/api/operator/calls.ts";
import type { CallState } from "../../../shared/calls/states.ts";
import { createTestApi } from "../../support/api.ts";
import { aCall } from "../../support/calls.ts";
import { tokens } from "../../support/environment.ts";
import { rowIn, writeRows } from "../../support/rows.ts";

/** Returns the zone that operators see of a call. */
async function zoneOf(
  request: { phone_number: string; timezone?: string },
  state: CallState = "WAITING",
): Promise<CallView["time_zone"] | undefined> {
  const { app, ledger, documents } = createTestApi();
  const call = aCall({ request: { agent_id: "agent_sales", ...request } });
  await writeRows([rowIn(state, call)], ledger, documents);
  const headers = { authorization: `Bearer ${tokens.operator}` };
  const answer = await app.request("/operator/calls", { headers });
  const { calls }: CallsPage = await answer.json();
  return calls[0]?.time_zone;
}

describe("the time zone of a call", () => {
  it("is that of its number", async () => {
    expect(await zoneOf({ phone_number: "+12125550100" })).toBe("America/New_York");
    expect(await zoneOf({ phone_number: "+33142555001" })).toBe("Europe/Paris");
  });

  it("is its own, if it has one", async () => {
    const timezone = "Asia/Kolkata";
    expect(await zoneOf({ phone_number: "+12125550100", timezone })).toBe(timezone);
  });

  it("is not told where there are several, or where the number is erased", async () => {
    expect(await zoneOf({ phone_number: "+18005550100" })).toBeNull();
    expect(await zoneOf({ phone_number: "+12125550100" }, "PLACED")).toBeNull();
  });
});
