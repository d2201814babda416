import { expect, it } from "vitest";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { requestIdPattern } from "../http-api/setup.ts";
import type { OperatorApiBench } from "./setup.ts";

/** Describes the requests that are let in. */
export function itLetsOperatorsIn(api: OperatorApiBench): void {
  const { ask } = api;
  async function pageOf(part: string) {
    const response = await api.request(`/operator${part}`);
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  it("lets in operators' tokens alone, and a client's nowhere", async () => {
    const { agent } = api;
    for (const token of [tokens.crm, "oc_wrong", ""]) {
      expect((await ask("/calls", undefined, token)).status).toBe(401);
      expect((await ask("/cancel", { agent_id: agent }, token)).status).toBe(401);
      expect((await ask("/nothing", undefined, token)).status).toBe(401);
    }
    const asClient = await api.request("/v1/calls", jsonRequest(tokens.operator, "POST", {}));
    expect(asClient.status).toBe(401);
    const nothing = await ask("/nothing");
    expect(nothing.status).toBe(404);
    expect(nothing.headers.get("x-request-id")).toMatch(requestIdPattern);
  });

  it("serves its page to anybody, without data, under a policy that lets in nothing foreign", async () => {
    const parts = ["", "/page.js", "/views.js", "/shared.js", "/leads.js", "/page.css"];
    const types = ["text/html", ...Array(4).fill("text/javascript"), "text/css"];
    for (const [index, type] of types.entries()) {
      const { status, headers, text } = await pageOf(parts[index] ?? "");
      expect([status, headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`]);
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-cache");
      expect(headers.get("x-request-id")).toMatch(requestIdPattern);
      expect(text).not.toBe("");
    }
    // The files are found under these paths alone, wherever the platform keeps them.
    for (const path of [
      "/page.html",
      "/page.js",
      "/views.js",
      "/shared.js",
      "/leads.js",
      "/page.css",
      "/operator/page.html",
    ]) {
      expect([404, 401]).toContain((await api.request(path)).status);
    }
  });

  it("does nothing for another site's page, nor for a token in an address", async () => {
    // A browser sends cookies and forms by itself. The API ignores both.
    const bearer = { authorization: `Bearer ${tokens.operator}` };
    const origin = { origin: "https://elsewhere.example" };
    const withoutToken = [
      api.request(`/operator/calls?state=NEEDS_REVIEW&token=${tokens.operator}`),
      api.request(`/operator/calls?state=NEEDS_REVIEW&access_token=${tokens.operator}`),
      api.request("/operator/calls?state=NEEDS_REVIEW", {
        headers: { cookie: `token=${tokens.operator}` },
      }),
    ];
    for (const response of await Promise.all(withoutToken)) expect(response.status).toBe(401);
    for (const type of [
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "text/plain",
    ]) {
      const response = await api.request("/operator/pause", {
        method: "POST",
        headers: { ...bearer, ...origin, "content-type": type },
        body: JSON.stringify({ agent_id: "agent_support" }),
      });
      expect([type, response.status]).toEqual([type, 422]);
    }
    // No answer permits another site to read it, or to send requests that need permission.
    const asked = await Promise.all([
      api.request("/operator/pause", {
        method: "OPTIONS",
        headers: {
          ...origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization, content-type",
        },
      }),
      api.request("/operator/calls?state=NEEDS_REVIEW", { headers: { ...bearer, ...origin } }),
    ]);
    for (const { headers } of asked) {
      expect([...headers.keys()].filter((one) => one.startsWith("access-control"))).toEqual([]);
    }
    expect(asked[0].ok).toBe(false);
    expect((await ask("/pauses")).body.pauses).not.toContainEqual(
      expect.objectContaining({ agent_id: "agent_support" }),
    );
  });
}
