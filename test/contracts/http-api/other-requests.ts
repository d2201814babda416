import { describe, expect, it } from "vitest";
import { tokens } from "#test/support/environment.ts";
import { type HttpApiBench, paths, problemOf } from "./setup.ts";

/** Describes other methods and other paths. */
export function describeOtherRequests(
  api: HttpApiBench,
  { hasOperator }: { hasOperator: boolean },
): void {
  describe("other requests", () => {
    it.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])(
      "answers 405 to %s, and names POST",
      async (method) => {
        for (const path of paths) {
          const response = await api.request(path, { method });
          expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
        }
      },
    );

    it("answers 404 elsewhere", async () => {
      for (const path of ["/", "/v1", "/v1/calls/", "/v1/call", "/v2/calls", "/v1//calls"]) {
        await problemOf(await api.request(path, { method: "POST" }), 404);
      }
    });

    const ofOperators: [path: string, caching: string][] = [
      ["/operator", "no-cache"],
      ["/operator/page.js", "no-cache"],
      ["/operator/views.js", "no-cache"],
      ["/operator/leads.js", "no-cache"],
      ["/operator/page.css", "no-cache"],
      ["/operator/openapi.json", "private, no-cache"],
    ];
    it.each<[path: string, caching: string]>([
      ["/docs", "no-cache"],
      ["/openapi.json", "no-cache"],
      ...(hasOperator ? ofOperators : []),
    ])("answers %s with its digest, and 304 to who has it", async (path, caching) => {
      const authorization = `Bearer ${tokens.operator}`;
      const get = (headers: Record<string, string> = {}) =>
        api.request(path, { headers: { authorization, ...headers } });
      const whole = await get();
      const etag = whole.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{22}"$/);
      expect([whole.status, whole.headers.get("cache-control")]).toEqual([200, caching]);
      expect(await whole.text()).not.toBe("");
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const answer = await get({ "if-none-match": known });
        expect([known, answer.status, await answer.text()]).toEqual([known, 304, ""]);
        expect([answer.headers.get("etag"), answer.headers.get("cache-control")]).toEqual([
          etag,
          caching,
        ]);
      }
      expect((await get({ "if-none-match": '"other"' })).status).toBe(200);
    });

    it("answers /healthz without a token", async () => {
      expect((await api.request("/healthz")).status).toBe(200);
    });
  });
}
