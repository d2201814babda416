import { describe, expect, it } from "vitest";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { useDeployment } from "#test/support/aws/deployment.ts";
import { expectWhole } from "#test/support/aws/expectations.ts";

const deployment = useDeployment("first");

describe("the first deployment, by the real cdk,", () => {
  it("creates nothing while the plan has a host of an example", async () => {
    const { changes, person, stack } = deployment();
    await expect(person().deploy({ plan: dialPlan })).rejects.toThrow(/still names example\.com/);
    expect([changes(), stack()]).toEqual([[], undefined]);
  });

  it("makes a whole service, protects it once it stands, and changes nothing when it is repeated", async () => {
    const { account, changes, person } = deployment();
    await person().deploy();
    expectWhole(deployment());
    const [before, secrets] = [changes(), structuredClone(account.secrets.secrets)];
    const again = person();
    await again.deploy();
    expect(changes()).toEqual(before);
    expect(account.secrets.secrets).toEqual(secrets);
    expect(again.printed.join("\n")).not.toMatch(/oc_/);
    expectWhole(deployment());
  });

  it("can be repeated after it failed, whatever was made", async () => {
    const { account, person, stack } = deployment();
    account.stacks.failures.set("AWS::ApiGatewayV2::Api", "Rate exceeded");
    await expect(person().deploy()).rejects.toThrow(/Rate exceeded[^]*run this again/);
    expect(stack()?.status).toBe("ROLLBACK_COMPLETE");
    expect(account.dynamo.tables.size).toBe(0);
    account.stacks.failures.clear();
    await person().deploy();
    expectWhole(deployment());
  });
});
