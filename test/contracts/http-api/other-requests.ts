import { describe, expect, it } from "vitest";
import { type HttpApiBench, paths, problemOf } from "./setup.ts";

/** Describes other methods and other paths. */
export function describeOtherRequests(api: HttpApiBench): void {
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

    it("answers /healthz without a token", async () => {
      expect((await api.request("/healthz")).status).toBe(200);
    });
  });
}
