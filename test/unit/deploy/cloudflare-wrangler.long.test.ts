import { describe, expect, it } from "vitest";
import { expectWhole, useDeployment } from "../../support/cloudflare/deployment.ts";

const deployment = useDeployment();

describe("npm run deploy:cloudflare, by the real wrangler,", () => {
  it("makes a whole service, and changes nothing that stands when it is repeated", async () => {
    const { account, changes, person } = deployment();
    await person().deploy();
    expectWhole(deployment());
    const begun = changes().length;
    const secrets = structuredClone(account.scripts.get("outbound-calls-api")?.secrets);
    const again = person();
    await again.deploy();
    expectWhole(deployment());
    expect(account.scripts.get("outbound-calls-api")?.secrets).toEqual(secrets);
    expect(again.printed.join("\n")).not.toMatch(/oc_|HASH_KEY, shown/);
    const deploying = /workers\/scripts|consumers/;
    expect(
      changes()
        .slice(begun)
        .filter((one) => !deploying.test(one)),
    ).toEqual([]);
  });

  it("leaves another project's database of its name alone", async () => {
    const { account, changes, person } = deployment();
    const theirs = person();
    await theirs.tools.run("wrangler", ["d1", "create", "outbound-calls"]);
    account.databases.get("outbound-calls")?.content.exec("CREATE TABLE orders (id TEXT)");
    const before = changes();
    await expect(person().deploy()).rejects.toThrow(/Found D1 outbound-calls, but.*--adopt/s);
    expect(changes()).toEqual(before);
  });

  it("tells how to log in where the login has expired", async () => {
    const { account, changes, person } = deployment();
    account.isLoggedIn = false;
    await expect(person().deploy()).rejects.toThrow(/wrangler login.*CLOUDFLARE_API_TOKEN/);
    expect(changes()).toEqual([]);
  });

  it.each(["/r2"])(
    "names the rights that the token needs, of which %s is missing",
    async (right) => {
      const { account, changes, person } = deployment();
      account.denied = [right];
      await expect(person().deploy()).rejects.toThrow(
        /token (lacks|needs) .*right.*docs\/deploy-cloudflare.md/s,
      );
      expect(changes()).toEqual([]);
    },
  );
});
