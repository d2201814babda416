import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deploymentOf, readDeployment, settingNames } from "#infra/aws/settings.ts";

const parsed = (settings: unknown, name?: string) =>
  deploymentOf(name, JSON.stringify({ [name ?? "default"]: settings }));

describe("the settings of a deployment on AWS", () => {
  it("are those of its name, and the defaults without any", () => {
    const full = {
      stage: "prod",
      basePath: "/phone",
      operator: false,
      clientRights: ["read"],
      xray: true,
      alarmEmail: "ada@example.com",
      alarmTopicArn: "arn:aws:sns:us-east-1:111122223333:pager",
      ledgerTable: "restored-ledger",
      dialerConcurrency: 16,
    };
    expect(Object.keys(full)).toEqual(settingNames);
    expect(parsed(full)).toEqual({ stackName: "OutboundCalls", settings: full });
    expect(parsed(full, "staging").stackName).toBe("OutboundCalls-staging");
    const json = JSON.stringify({ default: full });
    expect(deploymentOf("staging", json).settings).toEqual({
      operator: true,
      clientRights: [],
      xray: false,
    });
  });

  it.each([
    [{ alarmMail: "ada@example.com" }, /alarmMail/],
    [{ operator: "true" }, /must be true or false/],
    [{ clientRights: ["call"] }, /clientRights/],
    [{ clientRights: "read" }, /clientRights/],
    [{ ledgerTable: "a table" }, /must be the name of a DynamoDB table/],
    [{ dialerConcurrency: 5 }, /dialerConcurrency/],
    [{ dialerConcurrency: "16" }, /must be a number/],
    [{ alarmEmail: "ada" }, /alarmEmail/],
    [{ alarmTopicArn: "pager" }, /alarmTopicArn/],
    [{ basePath: "phone/" }, /basePath/],
    [{ stage: "$default" }, /letters, digits/],
  ])("refuse %j", (settings, message) => {
    expect(() => parsed(settings)).toThrow(message);
  });

  it.each(["v1", "operator", "callbacks", "docs", "healthz", "readyz", "openapi.json"])(
    "refuse the stage %s, which the API's own paths begin with",
    (stage) => {
      expect(() => parsed({ stage })).toThrow(/must not be v1, operator/);
    },
  );

  it("refuse names that no stack may have, and text that is no JSON", () => {
    for (const name of ["", "Staging", "a b", "-a", "a".repeat(31)])
      expect(() => readDeployment(name)).toThrow(/--name/);
    expect(() => deploymentOf(undefined, '{"default": {"Staging": {}}}')).toThrow(/Staging/);
    expect(() => deploymentOf(undefined, '{"Staging": {}}')).toThrow(/lowercase letters/);
    expect(() => deploymentOf(undefined, "{")).toThrow(/not JSON/);
  });

  it("stand in one file that cdk.json's app reads", () => {
    expect(readDeployment().stackName).toBe("OutboundCalls");
    const cdk: unknown = JSON.parse(readFileSync("cdk.json", "utf8"));
    expect(cdk).toMatchObject({ app: "node infra/aws/app.ts", output: "dist/cdk.out" });
  });
});
