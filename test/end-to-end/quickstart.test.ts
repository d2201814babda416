import { describe, expect, it } from "vitest";
import { aws, cloudflare } from "../support/platforms.ts";
import { paste, quickstartCommands, tokenOf } from "../support/quickstart.ts";
import { makeStateDirectory, startService, until } from "../support/service.ts";

describe("README's quickstart", () => {
  it("has a command for each of the two endpoints", () => {
    const paths = quickstartCommands.map((command) => /:8787(\S+)/.exec(command)?.[1]);
    expect(paths).toEqual(["/v1/calls", "/v1/calls/batch"]);
  });

  it.each([cloudflare, aws])(
    "has what is pasted answered 201 and simulated once, by npm run $script",
    async (platform) => {
      const directory = await makeStateDirectory();
      const service = await startService(platform, {}, directory.path);
      try {
        const [first = ""] = quickstartCommands;
        const printed = first.replace("http://127.0.0.1:8787", service.root);
        expect(service.output()).toContain(`export TOKEN=${tokenOf(service)}\n${printed}`);
        for (const command of quickstartCommands) {
          expect(await paste(command, service)).toMatch(/^HTTP\/1.1 201 Created/);
        }
        const placed = () =>
          [...service.output().matchAll(/"event":"call\.placed","call_id":"(\w+)"/g)].map(
            ([, id]) => id,
          );
        await until(() => placed().length >= 3);
        expect(new Set(placed()).size).toBe(3);
        expect(placed()).toHaveLength(3);
        const simulated = service.output().match(/^simulator: would dial \+•+\d\d/gm) ?? [];
        expect(
          simulated.map((line) => line.slice(-2)).toSorted((a, b) => Number(a) - Number(b)),
        ).toEqual(["23", "23", "24"]);
      } finally {
        await service.end("SIGTERM");
        await directory.remove();
      }
    },
  );
});
