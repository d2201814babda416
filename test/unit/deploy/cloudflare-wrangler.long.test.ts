import { describe, expect, it } from "vitest";
import { useDeployment } from "#test/support/cloudflare/deployment.ts";

const deployment = useDeployment();

describe("npm run deploy:cloudflare, by the real wrangler,", () => {
  it("leaves another project's database of its name alone", async () => {
    const { account, changes, person } = deployment();
    const theirs = person();
    await theirs.tools.run("wrangler", ["d1", "create", "outbound-calls"]);
    account.databases.get("outbound-calls")?.content.exec("CREATE TABLE orders (id TEXT)");
    const before = changes();
    await expect(person().deploy()).rejects.toThrow(/Found D1 outbound-calls, but.*--adopt/s);
    expect(changes()).toEqual(before);
  });

  it("says how to log in after the login has expired", async () => {
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
