import { describe, expect, it } from "vitest";
import { useDeployment } from "#test/support/aws/deployment.ts";
import { expectWhole } from "#test/support/aws/expectations.ts";
import { putStack } from "#test/support/aws/stacks.ts";

const deployment = useDeployment("troubles");
/** A stack of another project, which happens to have the name. */
const theirs = { Resources: { Orders: { Type: "AWS::SQS::Queue" } } };
const denied = (right: string) => ({
  code: "AccessDenied",
  message: `User: arn:aws:iam::111122223333:user/ada is not authorized to perform: ${right}`,
});

/** Has somebody else set values of the secret at the worst moment of the next write, or of the first that sets one. */
function meanwhile(change: Record<string, unknown>, added?: string) {
  const { account, secretValues } = deployment();
  const act = () => {
    const { secrets } = account.secrets;
    const [, secret] = [...secrets].find(([arn]) => arn.includes("Settings")) ?? [];
    if (secret === undefined) throw new Error("no secret");
    const next: Record<string, unknown> = JSON.parse([...secret.versions.values()].at(-1) ?? "{}");
    if (added !== undefined && String(next[added]) === String(secretValues()[added])) {
      account.secrets.beforeMove = act;
      return;
    }
    secret.versions.set("bob", JSON.stringify({ ...secretValues(), ...change }));
    secret.current = "bob";
  };
  account.secrets.beforeMove = act;
}

describe("npm run deploy:aws, by the real cdk,", () => {
  it("leaves another project's stack of its name alone, and so does npm run destroy:aws", async () => {
    const { account, changes, person, stack } = deployment();
    putStack(account.stacks, deployment().stackName, theirs);
    const message = /troubles in this account and region is another project's.*-- --name/;
    await expect(person().deploy()).rejects.toThrow(message);
    await expect(person().destroy()).rejects.toThrow(message);
    expect(changes()).toEqual([]);
    expect(stack()?.resources.size).toBe(1);
  });

  it("says that somebody else is deploying, and changes nothing meanwhile", async () => {
    const { account, changes, person, stack, stand } = deployment();
    stand();
    Object.assign(stack() ?? {}, { progress: { status: "UPDATE_IN_PROGRESS", looks: 1 } });
    await expect(person().deploy()).rejects.toThrow(
      /^Nothing was deployed: .* is being changed now \(UPDATE_IN_PROGRESS\).*run this again/,
    );
    expect(changes()).toEqual([]);
    await person().deploy();
    expect(account.dynamo.tables.size).toBe(1);
  });

  it("says so too where the other one began after it had looked", async () => {
    const { account, person, stack } = deployment();
    account.endpoint.cut = (operation) => {
      if (operation === "cloudformation:CreateChangeSet" && stack() === undefined) {
        putStack(account.stacks, deployment().stackName, theirs);
      }
      return false;
    };
    await expect(person().deploy()).rejects.toThrow(
      /Somebody else is changing the stack.*run this again/,
    );
    expect(stack()?.resources.size).toBe(1);
  });

  it("makes one whole service though two people begin at once, and one of them is told to wait", async () => {
    const { account, person } = deployment();
    account.stacks.looks = 1;
    const both = [person(), person()];
    const ended = await Promise.allSettled(both.map((one) => one.deploy()));
    for (const one of ended) {
      if (one.status === "rejected")
        expect(String(one.reason)).toMatch(/is changing the stack|is being changed/);
    }
    await person().deploy();
    expectWhole(deployment());
  });

  it("leaves the first token of another run, and says that its own is not valid", async () => {
    const { person, secretValues, stand } = deployment();
    stand();
    const [ada, bob] = [person(), person()];
    meanwhile({ API_TOKENS: [{ id: "first", sha256: "b" }] }, "API_TOKENS");
    await ada.deploy();
    expect(secretValues()["API_TOKENS"]).toEqual([{ id: "first", sha256: "b" }]);
    expect(ada.printed.join("\n")).toMatch(/that one is valid, not this/);
    await bob.deploy();
    expect(bob.printed.join("\n")).not.toMatch(/not this/);
  });

  describe("with two people at once, of whom one gives a HASH_KEY,", () => {
    const theirKey = "ef".repeat(32);
    const key = () => String(deployment().secretValues()["HASH_KEY"]);

    it("leaves the key under which another run's token is valid already", async () => {
      const { person, stand } = deployment();
      stand();
      const before = key();
      const ada = person();
      ada.tools.environment["HASH_KEY"] = theirKey;
      meanwhile({ API_TOKENS: [{ id: "first", sha256: "b" }] });
      await expect(ada.deploy()).rejects.toThrow(/^Another HASH_KEY is set/);
      expect(key()).toBe(before);
    });

    it("says that the key that it has shown is not the one that is used", async () => {
      const { person, stand } = deployment();
      stand();
      const ada = person();
      meanwhile({ HASH_KEY: theirKey }, "API_TOKENS");
      await expect(ada.deploy()).rejects.toThrow(
        /Another run has set another HASH_KEY.*set HASH_KEY --replace.*run this again/,
      );
      expect(key()).toBe(theirKey);
    });

    it("ends with one of two given keys, and reports that to whoever gave the other", async () => {
      const { person, stand } = deployment();
      stand();
      const people = [theirKey, "cd".repeat(32)].map((one) => {
        const somebody = person();
        somebody.tools.environment["HASH_KEY"] = one;
        return somebody;
      });
      const ended = await Promise.allSettled(people.map((one) => one.deploy()));
      const winners = people.filter(({ tools }) => tools.environment["HASH_KEY"] === key());
      expect(winners).toHaveLength(1);
      for (const [index, end] of ended.entries()) {
        if (end.status === "rejected") {
          expect(String(end.reason)).toMatch(
            /another HASH_KEY|at the same time|is changing the stack|is being changed/i,
          );
        } else expect(people[index]).toBe(winners[0]);
      }
    });
  });

  it("says how to sign in after the login has expired, whichever tool notices", async () => {
    const { account, changes, person } = deployment();
    const expired = {
      code: "ExpiredToken",
      message: "The security token included in the request is expired",
    };
    for (const operations of [["*"], ["sts:AssumeRole", "sts:GetCallerIdentity"]]) {
      for (const one of operations) account.endpoint.refusals.set(one, expired);
      await expect(person().deploy()).rejects.toThrow(/^There are no valid AWS credentials/);
      account.endpoint.refusals.clear();
    }
    expect(changes()).toEqual([]);
  });

  it.each(["cloudformation:DescribeStacks", "cloudformation:CreateChangeSet", "s3:PutObject"])(
    "names the right that is missing: %s",
    async (right) => {
      const { account, person, stack } = deployment();
      account.endpoint.refusals.set(right, denied(right));
      await expect(person().deploy()).rejects.toThrow(
        new RegExp(`lack a right[^]*not authorized to perform: ${right}`),
      );
      expect(stack()?.resources.size ?? 0).toBe(0);
    },
  );

  it("continues without the right to look at an existing stack, which earlier versions did not need", async () => {
    const { account, person, stand } = deployment();
    stand();
    account.endpoint.cut = (operation) => {
      const isAskedByCdk = account.endpoint.asked.some((one) => one.startsWith("sts:"));
      if (operation.startsWith("cloudformation:") && isAskedByCdk)
        account.endpoint.refusals.clear();
      return false;
    };
    const right = "cloudformation:DescribeStacks";
    account.endpoint.refusals.set(right, denied(right));
    const ada = person();
    await ada.deploy();
    expect(ada.printed).toContain(`Deployed ${deployment().stackName}.`);
  });
});

describe("npm run destroy:aws, by the real cdk,", () => {
  it("says how to remove the protection, and then leaves what holds calls", async () => {
    const { account, ownTable, person, stack, stand } = deployment();
    stand();
    const table = ownTable() ?? "";
    await expect(person().destroy()).rejects.toThrow(
      /Nothing was destroyed: .*--no-enable-termination-protection --stack-name OutboundCalls-troubles$/s,
    );
    Object.assign(stack() ?? {}, { isProtected: false });
    await person().destroy();
    expect(stack()).toBeUndefined();
    expect(account.dynamo.tables.has(table)).toBe(true);
  });
});
