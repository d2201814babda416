import { describe, expect, it } from "vitest";
import { destroyOnCloudflare } from "../../../infra/cli/deploy/cloudflare-destroy.ts";
import { expectWhole, useDeployment } from "../../support/cloudflare/deployment.ts";

const deployment = useDeployment();
const secretOf = (worker: string) =>
  deployment().account.scripts.get(`outbound-calls-${worker}`)?.secrets.get("HASH_KEY");

describe("two people who deploy to Cloudflare at once, by the real wrangler,", () => {
  it("make one whole service of an empty account, under one HASH_KEY that was shown", async () => {
    const { person } = deployment();
    const people = [person(), person()];
    const ends = await Promise.allSettled(people.map((one) => one.deploy()));
    for (const end of ends) {
      if (end.status === "rejected") expect(String(end.reason)).toMatch(/already (taken|exists)/);
    }
    // Whoever was refused runs it again.
    await person().deploy();
    expectWhole(deployment());
    const shown = people.map(({ printed }) => printed.join("\n"));
    expect(shown.filter((one) => one.includes(secretOf("api") ?? "no key"))).toHaveLength(1);
  });

  it("leave one that stands as it was, and both come to their ends", async () => {
    const { person, stand } = deployment();
    await stand();
    const before = secretOf("api");
    await Promise.all([person().deploy(), person().deploy()]);
    expectWhole(deployment());
    expect(secretOf("api")).toBe(before);
  });
});

describe("npm run destroy:cloudflare, by the real wrangler,", () => {
  const destroy = (by = deployment().person()) => destroyOnCloudflare(by.tools, { yes: true });
  function expectDestroyed() {
    const { queues, scripts, databases, buckets } = deployment().account;
    expect([queues.size, scripts.size]).toEqual([0, 0]);
    expect([databases.size, buckets.size]).toEqual([1, 1]); // they hold calls
  }

  it("asks for --yes, and then keeps the database and the bucket", async () => {
    const { changes, person, stand } = deployment();
    await stand();
    await expect(destroyOnCloudflare(person().tools, {})).rejects.toThrow(/--yes/);
    expect(changes()).toEqual([]);
    await destroy();
    expectDestroyed();
    const again = person();
    await destroy(again);
    expect(again.printed.slice(-10).every((line) => line.startsWith("Was gone"))).toBe(true);
  });

  it("is followed by a deployment over what it has left, with --adopt alone", async () => {
    const { person, stand } = deployment();
    await stand();
    await destroy();
    await expect(person().deploy()).rejects.toThrow(
      /Found D1 outbound-calls, R2 outbound-calls, but.*--adopt/,
    );
    await person().deploy({ adopt: true });
    expectWhole(deployment());
  });

  it.each(Array.from({ length: 10 }, (_, index) => index + 1))(
    "goes on where it was cut off after change %i",
    async (number) => {
      const { account, cutOff, person, stand } = deployment();
      await stand();
      const ada = person();
      cutOff(ada, number, "after");
      await destroy(ada).catch(() => undefined);
      account.endpoint.cut = undefined;
      await destroy();
      expectDestroyed();
    },
  );

  it("says how to log in where the login has expired, and which right the token lacks", async () => {
    const { account, changes, person, stand } = deployment();
    await stand();
    account.isLoggedIn = false;
    await expect(destroy(person())).rejects.toThrow(/wrangler login.*CLOUDFLARE_API_TOKEN/);
    account.isLoggedIn = true;
    account.denied = ["/queues"];
    await expect(destroy(person())).rejects.toThrow(/lacks a right: docs\/deploy-cloudflare.md/);
    expect(changes()).toEqual([]);
  });
});
