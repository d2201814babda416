import { describe, expect, it } from "vitest";
import { tokens } from "#test/support/environment.ts";
import { asBoth, type HttpApiBench, paths, pointersOf, problemOf, valid } from "./setup.ts";

/** Describes the callers that are refused. */
export function describeCallers(api: HttpApiBench): void {
  const { post, nothingQueued } = api;

  describe("refusing callers", () => {
    it.each([
      ["no token", undefined],
      ["a wrong token", "Bearer oc_wrong"],
      ["an ended token", `Bearer ${tokens.ended}`],
      ["a token without the right to call", `Bearer ${tokens.crmDesk}`],
      ["another scheme", `Basic ${tokens.crm}`],
      ["a bare Bearer", "Bearer"],
      ["a bare Bearer with a space", "Bearer "],
      ["a bare token", tokens.crm],
      ["two tokens", `Bearer ${tokens.crm} ${tokens.crm}`],
      ["two schemes", `Bearer ${tokens.crm}, Bearer ${tokens.crm}`],
      ["characters no token has", 'Bearer a"b'],
      ["an empty header", ""],
    ])("answers 401 to %s", async (_, authorization) => {
      for (const path of paths) {
        const headers = {
          "content-type": "application/json",
          ...(authorization === undefined ? {} : { authorization }),
        };
        // The token is checked before the body, which is no JSON here.
        const response = await api.request(path, { method: "POST", headers, body: "{" });
        expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
        await problemOf(response, 401);
      }
      await nothingQueued();
    });

    it("knows the scheme in any case", async () => {
      const response = await post("/v1/calls", valid, { authorization: `bearer ${tokens.crm}` });
      expect(response.status).toBe(201);
      await api.queued(1);
    });

    it("keeps a token to its agents", async () => {
      const headers = { authorization: `Bearer ${tokens.salesOnly}` };
      expect((await post("/v1/calls", valid, headers)).status).toBe(201);
      await api.queued(1);
      for (const [path, body, at] of asBoth({ ...valid, agent_id: "agent_support" })) {
        expect(await pointersOf(await post(path, body, headers))).toEqual([`${at}/agent_id`]);
      }
      await nothingQueued();
    });
  });
}
