import { expect, it } from "vitest";
import { findCaller, parseTokens } from "#shared/settings/tokens.ts";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { expectWhole, useDeployment } from "#test/support/cloudflare/deployment.ts";

const deployment = useDeployment();

it("npm run deploy:cloudflare makes a whole service by the real wrangler of a plan of one's own, and says no secret but two, once", async () => {
  const { account, person } = deployment();
  const ada = person();
  await expect(ada.deploy({}, dialPlan)).rejects.toThrow(/still names example\.com/);
  expect(deployment().changes()).toEqual([]);
  await ada.deploy();
  expectWhole(deployment());
  const printed = ada.printed.join("\n");
  const words = ada.ran.join("\n");
  for (const { secrets } of account.scripts.values()) {
    for (const [name, value] of secrets) {
      expect(printed.split(value)).toHaveLength(name === "HASH_KEY" ? 2 : 1);
      expect(words).not.toContain(value); // secrets travel on stdin
    }
  }
  const [token = "", ...more] = printed.match(/oc_\w+/g) ?? [];
  expect(more).toEqual([]);
  expect(words).not.toContain("oc_");
  const first = account.scripts.get("outbound-calls-api")?.secrets.get("API_TOKENS_FIRST");
  expect(findCaller(token, parseTokens(`[${first}]`), 0)).toMatchObject({ tokenId: "first" });
  const url = "https://outbound-calls-api.ada.workers.dev";
  expect(ada.printed.at(-1)).toContain(`curl -i ${url}/v1`);
  expect(ada.printed.at(-1)).toContain(`GET ${url}/readyz must answer 200`);
});
