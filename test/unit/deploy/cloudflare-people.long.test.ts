import { describe, expect, it } from "vitest";
import { destroyOnCloudflare } from "#infra/cli/deploy/cloudflare-destroy.ts";
import { createCloudflareSecretStore } from "#infra/cli/deploy/cloudflare-secrets.ts";
import { setSecret } from "#infra/cli/deploy/secret-commands.ts";
import { targetOf } from "#infra/cli/deploy/cloudflare-target.ts";
import { createHash } from "node:crypto";
import { expectWhole, type Person, useDeployment } from "#test/support/cloudflare/deployment.ts";

const deployment = useDeployment();
const secretOf = (worker: string) =>
  deployment().account.scripts.get(`outbound-calls-${worker}`)?.secrets.get("HASH_KEY");

/** Has the account hold what a first deployment leaves that is cut off before it sets secrets. */
async function standWithoutSecrets() {
  const { account, stand } = deployment();
  await stand();
  account.scripts.clear();
  for (const { consumers } of account.queues.values()) consumers.length = 0;
}

/** Has a person do something between setting the dialer's secrets and those of the API. */
function between(person: Person, work: () => Promise<void>) {
  const { run } = person.tools;
  person.tools.run = async (command, args, options) => {
    if (args.join(" ") === "secret bulk --name outbound-calls-api") await work();
    return run(command, args, options);
  };
}

/** True if a token that a person was shown is valid. */
function hasValidToken({ printed }: Person): boolean {
  const [token = ""] = /oc_\w+/.exec(printed.join("\n")) ?? [];
  const { secrets } = deployment().account.scripts.get("outbound-calls-api") ?? {};
  const sha256 = createHash("sha256").update(token).digest("hex");
  return secrets?.get("API_TOKENS_FIRST")?.includes(sha256) === true;
}

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

  it("set one HASH_KEY and one token, though the second begins between the first one's secrets", async () => {
    await standWithoutSecrets();
    const [ada, bob] = [deployment().person(), deployment().person()];
    const lease = { seconds: 600, pauseMs: 500 };
    const ends: Promise<void>[] = [];
    between(ada, async () => {
      ends.push(bob.deploy({ lease }));
      const waits = () => bob.printed.some((line) => line.startsWith("Somebody else sets"));
      const isOver = ends[0]?.then(() => true);
      while (!waits()) {
        const pause = new Promise<boolean>((next) => setTimeout(() => next(false), 50));
        if ((await Promise.race([isOver, pause])) === true) break;
      }
    });
    await ada.deploy({ lease });
    await Promise.all(ends);
    expectWhole(deployment());
    expect([hasValidToken(ada), hasValidToken(bob)]).toEqual([true, false]);
    expect(ada.printed.join("\n")).toContain(`HASH_KEY, shown only now: ${secretOf("api")}`);
    expect(bob.printed.join("\n")).not.toMatch(/HASH_KEY, shown|First token/);
  });

  it("are told what to do if one took so long that the two Workers may hold two keys", async () => {
    await standWithoutSecrets();
    const [ada, bob] = [deployment().person(), deployment().person()];
    const lease = { seconds: 0, pauseMs: 1 };
    between(ada, () => bob.deploy({ lease }));
    await expect(ada.deploy({ lease })).rejects.toThrow(
      /may hold two keys.*hash_key.missing.*set HASH_KEY --replace.*set EVENTS_KEY. Then run this again/,
    );
    expect(secretOf("dialer")).not.toBe(secretOf("api"));
    const store = createCloudflareSecretStore(bob.tools, targetOf(undefined));
    await store.set({ HASH_KEY: secretOf("dialer") ?? "" });
    await setSecret(store, "EVENTS_KEY", { value: "ab".repeat(32), replaces: false });
    expectWhole(deployment());
  });

  it("leave an existing deployment as it was, and both finish", async () => {
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
    "resumes where it was cut off after change %i",
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
