import { describe, expect, it } from "vitest";
import { expectWhole, Killed, useDeployment } from "../../support/cloudflare/deployment.ts";

const deployment = useDeployment();

describe("npm run deploy:cloudflare, by the real wrangler,", () => {
  it("makes a whole service, goes on where it was cut off, and changes nothing that stands", async () => {
    const { account, changes, cutOff, person } = deployment();
    const ada = person();
    cutOff(ada, 11, "after"); // the dialer has its secrets, the API has none
    await expect(ada.deploy()).rejects.toThrow(Killed);
    account.endpoint.cut = undefined;
    const bob = person();
    await bob.deploy();
    expectWhole(deployment());
    const before = [
      changes().length,
      structuredClone(account.scripts.get("outbound-calls-api")?.secrets),
    ];
    const again = person();
    await again.deploy();
    expectWhole(deployment());
    expect(account.scripts.get("outbound-calls-api")?.secrets).toEqual(before[1]);
    expect(again.printed.join("\n")).not.toMatch(/oc_|HASH_KEY, shown/);
    const made = changes()
      .slice(Number(before[0]))
      .filter((one) => !/workers\/scripts|consumers/.test(one));
    expect(made).toEqual([]);
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

  it.each(["/queues", "/d1", "/r2", "/workers"])(
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
