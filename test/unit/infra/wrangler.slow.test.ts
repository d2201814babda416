import { resolve } from "node:path";
import { expect, it } from "vitest";
import { experimental_readRawConfig as readRawConfig } from "wrangler";

const root = resolve(import.meta.dirname, "../../..");

it("the API's Worker takes one delivery of dead letters at a time, beside clients' requests", () => {
  // Without a limit Cloudflare runs up to 250 at once.
  const { rawConfig } = readRawConfig({ config: resolve(root, "wrangler.toml") });
  expect(rawConfig.queues?.consumers).toMatchObject([
    { queue: "outbound-calls-dead", max_concurrency: 1 },
    { queue: "outbound-calls-events-dead", max_concurrency: 1 },
  ]);
});

it("the dialer's requests to clients' receivers pass no firewall by", () => {
  const { rawConfig } = readRawConfig({ config: resolve(root, "functions/dialer/wrangler.toml") });
  expect(rawConfig.compatibility_flags).toContain("global_fetch_strictly_public");
});
