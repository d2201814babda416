import { describe, expect, it } from "vitest";
import { useDeployment } from "#test/support/aws/deployment.ts";
import { expectWhole } from "#test/support/aws/expectations.ts";
import { Killed } from "#test/support/aws/real-cdk.ts";

const deployment = useDeployment("again");

describe("the first deployment, repeated,", () => {
  it("says how to repeat a deployment that an earlier version began, failed, and left protected", async () => {
    const { account, person, stand, stack } = deployment();
    account.stacks.failures.set("AWS::ApiGatewayV2::Api", "Rate exceeded");
    stand();
    account.stacks.failures.clear();
    expect(stack()).toMatchObject({ status: "ROLLBACK_FAILED", isProtected: true });
    await expect(person().deploy()).rejects.toThrow(
      /^Nothing was deployed: .*ROLLBACK_FAILED.*no-enable-termination-protection --stack-name OutboundCalls-again$/s,
    );
    Object.assign(stack() ?? {}, { isProtected: false });
    await person().deploy();
    expect(stack()).toMatchObject({ status: "UPDATE_COMPLETE", isProtected: true });
  });

  it("resumes where it was cut off while the stack was made", async () => {
    const { account, cutOff, person, stack } = deployment();
    const first = person();
    account.stacks.looks = 2;
    cutOff(first, { operation: "cloudformation:ExecuteChangeSet", number: 1, moment: "after" });
    await expect(first.deploy()).rejects.toThrow(Killed);
    account.endpoint.cut = undefined;
    expect(stack()?.isProtected).toBe(false);
    await expect(person().deploy()).rejects.toThrow(/CREATE_IN_PROGRESS.*a run that was cut off/);
    account.stacks.looks = 0;
    Object.assign(stack() ?? {}, { progress: undefined });
    await person().deploy();
    expectWhole(deployment());
  });
});
