import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import { afterAll, describe, expect, it } from "vitest";
import { functionNames } from "../../infra/aws/bundle.ts";
import { parseDialPlan } from "../../shared/dial-plan/dial-plan.ts";
import { createSpecificationCheck } from "../support/service-specification.ts";
import type { OutboundCallsProps } from "../../infra/aws/props.ts";
import { OutboundCallsStack } from "../../infra/aws/stack.ts";

const bundles = mkdtempSync(join(tmpdir(), "outbound-calls-"));
for (const name of functionNames) {
  mkdirSync(join(bundles, name));
  writeFileSync(join(bundles, name, "index.mjs"), "export const handler = () => undefined;\n");
}
afterAll(() => rmSync(bundles, { recursive: true }));
const template = Template.fromStack(
  new OutboundCallsStack(new App(), "OutboundCalls", {
    bundles,
    stage: "prod",
    basePath: "/phone",
  }),
);

interface Resource {
  Properties: Record<string, unknown>;
}
const resources = (type: string): Resource["Properties"][] =>
  Object.values(template.findResources(type)).map(
    ({ Properties = {} }): Resource["Properties"] => Properties,
  );

/** Expects that cdk-nag has nothing to object to in a stack with these settings. */
function expectNoObjection(props: Partial<OutboundCallsProps>): void {
  const app = new App({ outdir: mkdtempSync(join(bundles, "out-")) });
  new OutboundCallsStack(app, "Checked", { bundles, ...props });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const report: unknown = JSON.parse(
    readFileSync(join(app.synth().directory, "validation-report.json"), "utf8"),
  );
  expect(report).toMatchObject({
    pluginReports: [{ pluginName: "AwsSolutions", conclusion: "success", violations: [] }],
  });
}

describe("the AWS stack", () => {
  it("hands the dialer batches whose messages fail one by one, of all queues, at bounded concurrency", () => {
    const sources = resources("AWS::Lambda::EventSourceMapping");
    expect(sources).toHaveLength(4);
    for (const source of sources) {
      expect(source).toMatchObject({
        FunctionResponseTypes: ["ReportBatchItemFailures"],
        ScalingConfig: { MaximumConcurrency: expect.any(Number) },
      });
    }
  });

  it("hides a message for six times as long as the dialer may run, and keeps it for 14 days", () => {
    const timeouts = resources("AWS::Lambda::Function").map(({ Timeout }) => Number(Timeout));
    const queues = resources("AWS::SQS::Queue");
    expect(queues).toHaveLength(4);
    for (const queue of queues) {
      expect(queue["VisibilityTimeout"]).toBeGreaterThanOrEqual(6 * Math.max(...timeouts));
      expect(queue).toMatchObject({
        MessageRetentionPeriod: 14 * 86_400,
        SqsManagedSseEnabled: true,
      });
    }
    template.hasResourceProperties("AWS::SQS::Queue", {
      RedrivePolicy: { maxReceiveCount: 100, deadLetterTargetArn: Match.anyValue() },
    });
    // The dialer tells its queues apart by the ends of their names.
    const names = queues.flatMap(({ QueueName }) => (QueueName === undefined ? [] : [QueueName]));
    expect(names).toEqual([
      "OutboundCalls-dead",
      "OutboundCalls-events-dead",
      "OutboundCalls-events",
    ]);
  });

  it("gives nobody a wildcard action, and reaches nothing but its own resources", () => {
    const statements = resources("AWS::IAM::Policy").flatMap(
      ({ PolicyDocument }): { Action: string | string[]; Resource: unknown }[] =>
        Object(PolicyDocument).Statement,
    );
    expect(statements.length).toBeGreaterThan(5);
    for (const { Action, Resource } of statements) {
      expect([Action].flat().filter((one) => one.includes("*"))).toEqual([]);
      expect(Resource).not.toBe("*");
    }
    expect(JSON.stringify(template.toJSON())).not.toContain("service-role/AWSLambda");
  });

  it("leaves invocations for the sweep and the purge, of those that are reserved to the dialer", () => {
    const stackWith = (dialerConcurrency: number) =>
      new OutboundCallsStack(new App(), "Reserved", {
        bundles,
        dialerConcurrency,
      });
    const other = Template.fromStack(stackWith(12));
    other.hasResourceProperties("AWS::Lambda::Function", { ReservedConcurrentExecutions: 12 });
    const most = Object.values(other.findResources("AWS::Lambda::EventSourceMapping")).map(
      ({ Properties }): number => Object(Properties).ScalingConfig.MaximumConcurrency,
    );
    expect(most.reduce((sum, one) => sum + one, 0)).toBe(12 - 2);
    for (const wrong of [9, 11.5, Number.NaN]) {
      expect(() => stackWith(wrong)).toThrow(/at least 10/);
    }
  });

  it("has no fault by AWS's own specification of its resources, which finds such faults", async () => {
    const { faultsOf } = await createSpecificationCheck();
    const { Resources: all } = template.toJSON();
    expect(Object.keys(all).length).toBeGreaterThan(40);
    expect(faultsOf(all)).toEqual([]);
    const queue = { Type: "AWS::SQS::Queue", Properties: { VisibilityTimeout: "6", Colour: 1 } };
    const source = { Type: "AWS::Lambda::EventSourceMapping", Properties: { ScalingConfig: [] } };
    expect(faultsOf({ queue, source, other: { Type: "AWS::SQS::Topic" } })).toEqual([
      'queue (AWS::SQS::Queue).VisibilityTimeout is no integer: "6"',
      "queue (AWS::SQS::Queue) has no Colour",
      "source (AWS::Lambda::EventSourceMapping) lacks FunctionName",
      "source (AWS::Lambda::EventSourceMapping).ScalingConfig is no ref: []",
      "other: AWS::SQS::Topic is no type of resource",
    ]);
  });

  it("traces the invocations of both functions only where that is asked for", () => {
    const modesOf = (one: Template) =>
      Object.values(one.findResources("AWS::Lambda::Function")).flatMap(
        ({ Properties }) => Object(Properties).TracingConfig?.Mode ?? [],
      );
    expect(modesOf(template)).toEqual([]);
    const traced = new OutboundCallsStack(new App(), "Traced", { bundles, xray: true });
    expect(modesOf(Template.fromStack(traced))).toEqual(["Active", "Active"]);
    expectNoObjection({ xray: true });
  });

  it("uses a restored table in the place of its own, which it keeps", () => {
    const ledgerTable = "restored-ledger";
    const props = { bundles, operator: true, ledgerTable };
    const other = Template.fromStack(new OutboundCallsStack(new App(), "Restored", props));
    other.resourceCountIs("AWS::DynamoDB::GlobalTable", 1);
    const functions = Object.values(other.findResources("AWS::Lambda::Function"));
    const tables = functions.map(
      ({ Properties }) => Object(Properties).Environment?.Variables?.TABLE,
    );
    expect(tables.filter((name) => name !== undefined)).toEqual([ledgerTable, ledgerTable]);
    const policies = JSON.stringify(other.findResources("AWS::IAM::Policy"));
    expect(policies).toContain(`:table/${ledgerTable}"`);
    expect(policies).toContain(`:table/${ledgerTable}/index/`);
    expect(policies).not.toMatch(/"Fn::GetAtt":\["Ledger/);
    other.hasOutput("LedgerTable", { Value: ledgerTable });
  });

  describe("with routes to Amazon Connect", () => {
    const instances = [
      "00fbeee1-123e-111e-93e3-11111bfbfcc1",
      "11fbeee1-123e-111e-93e3-11111bfbfcc2",
    ] as const;
    const planWith = (agents: Record<string, object>) =>
      parseDialPlan(
        {
          agents,
          callingHours: { default: "always" },
          destinations: { allow: ["US"] },
        },
        {},
      );
    const connect = (instance: string, region: string) => ({
      provider: "amazon-connect",
      region,
      instance,
      flow: "846ec553-a005-41c0-8341-000000000000",
      from: "+12025550100",
    });
    const plan = planWith({
      a: connect(instances[0], "us-west-2"),
      b: connect(instances[0].toUpperCase(), "us-west-2"),
      c: connect(instances[1], "eu-central-1"),
      d: { provider: "webhook", url: "https://example.com/dial" },
    });
    const statementsOf = (stack: OutboundCallsStack, role: string): unknown[] =>
      Object.values(Template.fromStack(stack).findResources("AWS::IAM::Policy"))
        .filter((policy) => JSON.stringify(policy).includes(`"Ref":"${role}`))
        .flatMap(({ Properties }) => Object(Properties).PolicyDocument.Statement);
    const isOfConnect = (statement: unknown) => JSON.stringify(statement).includes("connect:");

    it("lets the dialer start contacts of those instances alone, and the API none", () => {
      const stack = new OutboundCallsStack(new App(), "WithConnect", { bundles, plan });
      const contactsOf = (region: string, instance: string) => ({
        "Fn::Join": [
          "",
          [
            "arn:",
            { Ref: "AWS::Partition" },
            `:connect:${region}:`,
            { Ref: "AWS::AccountId" },
            `:instance/${instance}/contact/*`,
          ],
        ],
      });
      expect(statementsOf(stack, "dialerrole").filter(isOfConnect)).toEqual([
        {
          Effect: "Allow",
          Action: ["connect:StartOutboundVoiceContact", "connect:DescribeContact"],
          Resource: [
            contactsOf("us-west-2", instances[0]),
            contactsOf("eu-central-1", instances[1]),
          ],
        },
      ]);
      expect(statementsOf(stack, "apirole").filter(isOfConnect)).toEqual([]);
    });

    it("says why, so that cdk-nag has nothing to object to", () => {
      expectNoObjection({ plan });
    });

    it("gives no such right where the plan has no such route", () => {
      const other = planWith({ d: { provider: "webhook", url: "https://example.com/dial" } });
      const stack = new OutboundCallsStack(new App(), "WithoutConnect", { bundles, plan: other });
      expect(statementsOf(stack, "dialerrole").filter(isOfConnect)).toEqual([]);
    });
  });

  it("lets the API reach calls only where operators are to have it", () => {
    const other = new OutboundCallsStack(new App(), "WithOperator", { bundles, operator: true });
    const policies = Object.values(Template.fromStack(other).findResources("AWS::IAM::Policy")).map(
      (policy) => JSON.stringify(policy),
    );
    const api = policies.find((policy) => policy.includes('"Ref":"apirole'));
    expect(api).toMatch(/"dynamodb:UpdateItem".*"dynamodb:Query"/);
    expect(api).not.toContain("ProviderSecrets");
  });

  it.each([
    { clientRights: ["read"] as const, actions: /^dynamodb:(BatchGetItem|Query)$/ },
    {
      clientRights: ["cancel"] as const,
      actions: /^dynamodb:(GetItem|BatchGetItem|PutItem|UpdateItem|Query)$/,
    },
  ])(
    "lets the API do for clients what $clientRights takes, and no more",
    ({ clientRights, actions }) => {
      const made = (props: Partial<OutboundCallsProps>) =>
        Template.fromStack(new OutboundCallsStack(new App(), "Rights", { bundles, ...props }));
      const statementsOf = (one: Template): string[] =>
        Object.values(one.findResources("AWS::IAM::Policy"))
          .filter((policy) => JSON.stringify(policy).includes('"Ref":"apirole'))
          .flatMap(({ Properties }) => Object(Properties).PolicyDocument.Statement)
          .map((statement) => JSON.stringify(statement));
      const without = statementsOf(made({}));
      const other = made({ clientRights: [...clientRights] });
      const added = statementsOf(other).filter((one) => !without.includes(one));
      expect(added).toHaveLength(2);
      for (const { Action, Resource, Condition } of added.map((one) => Object(JSON.parse(one)))) {
        for (const action of [Action].flat()) expect(action).toMatch(actions);
        const isOfIndex = JSON.stringify(Resource).includes("/index/hour");
        expect(Action === "dynamodb:Query").toBe(isOfIndex);
        const partitions = Condition?.["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
        if (!isOfIndex) expect([partitions].flat()).toContain("call#*");
      }
      const variablesOf = (one: Template) =>
        Object.values(one.findResources("AWS::Lambda::Function")).flatMap(
          ({ Properties }) => Object(Properties).Environment?.Variables?.CLIENT_RIGHTS ?? [],
        );
      expect([variablesOf(made({})), variablesOf(other)]).toEqual([[], [clientRights.join()]]);
      expectNoObjection({ clientRights: [...clientRights] });
    },
  );

  it("lets the API reach idempotency keys alone, and no provider's secret", () => {
    const policies = resources("AWS::IAM::Policy").map((policy) => JSON.stringify(policy));
    const api = policies.filter((policy) => policy.includes('"Ref":"apirole'));
    expect(api).toHaveLength(1);
    expect(api[0]).toContain('"dynamodb:LeadingKeys":["doc#idempotency-key#*"]');
    expect(api[0]).not.toContain("ProviderSecrets");
    expect(api[0]).not.toMatch(/UpdateItem|DeleteItem|Query|GetObject/);
    expect(policies.filter((policy) => policy.includes("ProviderSecrets"))).toHaveLength(1);
  });

  it("keeps the ledger: point-in-time recovery, ttl, no deletion, the adapter's keys and indexes", () => {
    template.hasResource("AWS::DynamoDB::GlobalTable", {
      DeletionPolicy: "Retain",
      Properties: {
        BillingMode: "PAY_PER_REQUEST",
        TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true },
        KeySchema: [
          { AttributeName: "pk", KeyType: "HASH" },
          { AttributeName: "sk", KeyType: "RANGE" },
        ],
        GlobalSecondaryIndexes: ["due", "number", "attention", "hour"].map((IndexName) =>
          Match.objectLike({ IndexName, Projection: { ProjectionType: "KEYS_ONLY" } }),
        ),
        Replicas: [
          Match.objectLike({
            DeletionProtectionEnabled: true,
            PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          }),
        ],
      },
    });
  });

  it("removes a message's object after 30 days, longer than both queues keep it", () => {
    template.hasResourceProperties("AWS::S3::Bucket", {
      LifecycleConfiguration: {
        Rules: ["messages/", "dead-letters/"].map((Prefix) => ({
          ExpirationInDays: 30,
          Prefix,
          Status: "Enabled",
        })),
      },
    });
  });

  it("sweeps every minute and purges every hour, beside the queue and without repeating either", () => {
    for (const [ScheduleExpression, Input] of [
      ["rate(1 minute)", '{"scheduled":"sweep"}'],
      ["rate(1 hour)", '{"scheduled":"purge"}'],
    ]) {
      template.hasResourceProperties("AWS::Events::Rule", {
        ScheduleExpression,
        Targets: [
          Match.objectLike({
            Input,
            RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 },
          }),
        ],
      });
    }
    template.hasResourceProperties("AWS::Lambda::EventInvokeConfig", {
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
    });
  });

  it("raises an alarm without full sweeps: missing data is breaching", () => {
    template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      MetricName: "sweep.full",
      Period: 300,
      TreatMissingData: "breaching",
      ComparisonOperator: "LessThanThreshold",
    });
  });

  it("runs both functions on Node 24, arm64, and holds no secret", () => {
    for (const { Runtime, Architectures, Environment } of resources("AWS::Lambda::Function")) {
      expect([Runtime, Architectures]).toEqual(["nodejs24.x", ["arm64"]]);
      const names = Object.keys(Object(Environment).Variables).toSorted();
      expect(names.join()).toBe(
        "BASE_PATH,BUCKET,DEAD_EVENTS_QUEUE_URL,DEAD_QUEUE_URL,EVENTS_QUEUE_URL,QUEUE_URL,SECRET_IDS,TABLE",
      );
    }
    const [secret] = resources("AWS::SecretsManager::Secret");
    expect(secret).not.toHaveProperty("SecretString");
  });

  it("has HASH_KEY made once, 64 hex digits that no template holds, and keeps it with the table", () => {
    // Secrets Manager generates anew whenever this object changes, and every hash of a number would be lost.
    template.hasResource("AWS::SecretsManager::Secret", {
      DeletionPolicy: "Retain",
      UpdateReplacePolicy: "Retain",
      Properties: {
        GenerateSecretString: {
          SecretStringTemplate: '{"API_TOKENS":[]}',
          GenerateStringKey: "HASH_KEY",
          PasswordLength: 64,
          ExcludePunctuation: true,
          ExcludeUppercase: true,
          ExcludeCharacters: "ghijklmnopqrstuvwxyz",
          RequireEachIncludedType: false,
        },
      },
    });
  });

  it("serves the default stage and the named one, with access logs and a throttle", () => {
    const stages = resources("AWS::ApiGatewayV2::Stage");
    expect(stages.map(({ StageName }) => StageName)).toEqual(["$default", "prod"]);
    for (const stage of stages) {
      expect(stage).toMatchObject({
        AccessLogSettings: { DestinationArn: expect.anything() },
        DefaultRouteSettings: { ThrottlingRateLimit: 2000 },
      });
    }
  });

  it("raises an alarm for dead letters, an old message, an open breaker, errors and 5XX", () => {
    template.hasResourceProperties("AWS::SNS::TopicPolicy", {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: "Allow",
            Action: "sns:Publish",
            Principal: { Service: "cloudwatch.amazonaws.com" },
          }),
        ]),
      },
    });
    const descriptions = resources("AWS::CloudWatch::Alarm").map((alarm) => {
      expect(alarm["AlarmActions"]).toHaveLength(1);
      return String(alarm["AlarmDescription"]);
    });
    for (const expected of [
      /hundred times/,
      /failed each time/,
      /an hour late/,
      /keep up/,
      /in trouble/,
      /decision/,
      /dialer's function/,
      /dialer's log/,
      /API's log/,
      /5XX/,
    ]) {
      expect(descriptions.filter((one) => expected.test(one))).toHaveLength(1);
    }
  });
});
