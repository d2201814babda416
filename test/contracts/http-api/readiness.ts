import { describe, expect, it } from "vitest";
import type { Documents } from "#shared/ports/documents.ts";
import { putHeartbeats } from "#test/support/heartbeats.ts";
import { validated } from "#test/support/validated-answers.ts";
import type { ApiUnderTest } from "./setup.ts";

/** Describes the probe of uptime monitors on any platform. */
export function describeReadiness(
  name: string,
  create: () => Pick<ApiUnderTest, "request"> & { documents(): Documents },
): void {
  describe(`GET /readyz on ${name}`, () => {
    it("is 200 while the dialer's documents are young, and 503 once they are old", async () => {
      const api = validated(create());
      const ask = async () => (await api.request("/readyz")).status;
      await putHeartbeats(api.documents(), Date.now());
      await expect.poll(ask, { interval: 200 }).toBe(200);
      await putHeartbeats(api.documents(), Date.now() - 301_000);
      await expect.poll(ask, { interval: 200 }).toBe(503);
      const dead = await api.request("/readyz");
      expect(await dead.text()).toBe("not ready\n");
      expect(dead.headers.get("retry-after")).toBe("30");
      await putHeartbeats(api.documents(), Date.now());
      await expect.poll(ask, { interval: 200 }).toBe(200);
      expect((await api.request("/readyz", { method: "HEAD" })).status).toBe(200);
      expect((await api.request("/healthz")).status).toBe(200);
    });
  });
}
