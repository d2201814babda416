import { Match, type Template } from "#infra/aws/cdk.ts";
import { describe, expect, it } from "vitest";
import { deploymentOf } from "#infra/aws/settings.ts";
import { secretTags } from "#infra/aws/secret-tags.ts";
import { propertiesOf, useStacks } from "../support/aws-stacks.ts";
import { createSpecificationCheck } from "../support/service-specification.ts";

const { stackOf, templateOf, expectNoObjection } = useStacks();
const template = templateOf({ stage: "prod", basePath: "/phone" });
const resources = (type: string) => propertiesOf(template, type);

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

  it("delivers the messages of calls one by one, so that quick calls share no delivery with slow ones", () => {
    const sizes = resources("AWS::Lambda::EventSourceMapping").map(
      ({ EventSourceArn, BatchSize }) => [
        JSON.stringify(EventSourceArn).replace(/.*"([A-Za-z]+?)[0-9A-F]{8}".*/, "$1"),
        BatchSize,
      ],
    );
    expect(Object.fromEntries(sizes)).toEqual({
      Calls: 1,
      DeadCalls: 1,
      Events: 10,
      DeadEvents: 10,
    });
  });

  it("hides a message for six times as long as its consumer may run, and keeps it for 14 days", () => {
    // The dispatcher is delivered none.
    const consumers = new Set(
      resources("AWS::Lambda::EventSourceMapping").map(
        ({ FunctionName }): string => Object(FunctionName).Ref,
      ),
    );
    const functions = Object.entries(template.findResources("AWS::Lambda::Function"));
    const timeouts = functions.flatMap(([id, { Properties }]) =>
      consumers.has(id) ? Number(Object(Properties).Timeout) : [],
    );
    expect(timeouts).toHaveLength(2); // the API's too, which keeps dead letters
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
    const ofStack = JSON.stringify({
      "Fn::Select": [2, { "Fn::Split": ["/", { Ref: "AWS::StackId" }] }],
    });
    for (const [index, end] of ["-dead", "-events-dead", "-events"].entries()) {
      const [begin, id, last]: unknown[] = Object(names[index])["Fn::Join"][1];
      expect([begin, last]).toEqual(["OutboundCalls-", end]);
      expect(JSON.stringify(id)).toContain(ofStack); // those of a former stack keep their names
    }
  });

  it("has termination protection, and retains what holds calls unless the creation failed", () => {
    expect(stackOf({}).terminationProtection).toBe(true);
    const keptTypes = [
      "SQS::Queue",
      "DynamoDB::GlobalTable",
      "S3::Bucket",
      "SecretsManager::Secret",
    ];
    const policies = keptTypes.flatMap((type) =>
      Object.entries(template.findResources(`AWS::${type}`)).map(
        ([id, { DeletionPolicy, UpdateReplacePolicy }]) => [
          id.replace(/[0-9A-F]{8}$/, ""),
          DeletionPolicy,
          UpdateReplacePolicy,
        ],
      ),
    );
    const kept = ["RetainExceptOnCreate", "Retain"];
    expect(policies).toEqual([
      ...["DeadCalls", "Calls", "DeadEvents", "Events"].map((id) => [id, ...kept]),
      ["Ledger", ...kept],
      ["Messages", ...kept],
      ["Settings", ...kept],
      ["ProviderSecrets", "Delete", "Delete"], // a person has them
    ]);
  });

  it("is created without protection, as a failed creation is rolled back, and protected in the next update", () => {
    const protectionOf = (one: Template) =>
      propertiesOf(one, "AWS::DynamoDB::GlobalTable").map(
        ({ Replicas }) => Object(Replicas)[0].DeletionProtectionEnabled,
      );
    expect(stackOf({ isUnprotected: true }).terminationProtection).toBe(false);
    const [first, then] = [templateOf({ isUnprotected: true }), templateOf({})];
    expect([protectionOf(first), protectionOf(then)]).toEqual([[false], [true]]);
    const rest = ({ Resources }: { Resources: Record<string, { Type: string }> }) =>
      Object.entries(Resources).filter(([, { Type }]) => Type !== "AWS::DynamoDB::GlobalTable");
    expect(rest(Object(first.toJSON()))).toEqual(rest(Object(then.toJSON())));
  });

  it("leaves invocations for the sweep and the purge, of those that are reserved to the dialer", () => {
    const other = templateOf({ dialerConcurrency: 16 });
    other.hasResourceProperties("AWS::Lambda::Function", { ReservedConcurrentExecutions: 16 });
    const most = Object.values(other.findResources("AWS::Lambda::EventSourceMapping"))
      .map(({ Properties }) => Object(Properties))
      .filter(({ FunctionName }) => FunctionName.Ref.startsWith("dialer"))
      .map(({ ScalingConfig }): number => ScalingConfig.MaximumConcurrency);
    expect(most).toHaveLength(2);
    expect(most.reduce((sum, one) => sum + one, 0)).toBe(16 - 2);
    for (const wrong of [9, 15.5, Number.NaN]) {
      expect(() => templateOf({ dialerConcurrency: wrong })).toThrow(/at least 10/);
    }
  });

  it("is valid by AWS's own specification of its resources, which detects invalid ones", async () => {
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

  it("traces the invocations of the functions only where that is asked for", () => {
    const modesOf = (one: Template) =>
      Object.values(one.findResources("AWS::Lambda::Function")).flatMap(
        ({ Properties }) => Object(Properties).TracingConfig?.Mode ?? [],
      );
    expect(modesOf(template)).toEqual([]);
    expect(modesOf(templateOf({ xray: true }))).toEqual(["Active", "Active", "Active"]);
    expectNoObjection({ xray: true });
  });

  it("uses a restored table in the place of its own, which it keeps", () => {
    const ledgerTable = "restored-ledger";
    const other = templateOf({ operator: true, ledgerTable });
    other.resourceCountIs("AWS::DynamoDB::GlobalTable", 1);
    const functions = Object.values(other.findResources("AWS::Lambda::Function"));
    const tables = functions.map(
      ({ Properties }) => Object(Properties).Environment?.Variables?.TABLE,
    );
    expect(tables).toEqual([ledgerTable, ledgerTable, ledgerTable]);
    const policies = JSON.stringify(other.findResources("AWS::IAM::Policy"));
    expect(policies).toContain(`:table/${ledgerTable}"`);
    expect(policies).toContain(`:table/${ledgerTable}/index/`);
    expect(policies).not.toMatch(/"Fn::GetAtt":\["Ledger/);
    other.hasOutput("LedgerTable", { Value: ledgerTable });
  });

  it("omits its own table while a restored table is imported, and then differs by that table alone", () => {
    const settings = { ledgerTable: "restored-ledger" };
    const { Resources: before } = templateOf({ ...settings, withoutLedger: true }).toJSON();
    const { Resources: after } = templateOf(settings).toJSON();
    const added = Object.keys(after).filter((id) => !(id in before));
    expect(added.map((id) => after[id].Type)).toEqual(["AWS::DynamoDB::GlobalTable"]);
    const changed = Object.keys(before).filter(
      (id) => JSON.stringify(before[id]) !== JSON.stringify(after[id]),
    );
    // The tag by which the deploy command finds the stack's own table.
    expect(changed.map((id) => after[id].Type)).toEqual(["AWS::SecretsManager::Secret"]);
    expect(() => templateOf({ withoutLedger: true })).toThrow(/needs ledgerTable/);
  });

  it("has the indexes of a step between two versions where it is given them", () => {
    const ledgerIndexes = { due: { hashKey: "due", rangeKey: "dueKey" } };
    const [table] = propertiesOf(templateOf({ ledgerIndexes }), "AWS::DynamoDB::GlobalTable");
    expect(table?.["GlobalSecondaryIndexes"]).toMatchObject([{ IndexName: "due" }]);
  });

  it("tags the secret of its settings with its own table's name, by which commands find it", () => {
    const tags = resources("AWS::SecretsManager::Secret").map(({ Tags }) => JSON.stringify(Tags));
    const [id] = Object.keys(template.findResources("AWS::DynamoDB::GlobalTable"));
    expect(tags.filter((one) => one.includes(`"${secretTags.table}"`))).toEqual([
      expect.stringContaining(`{"Key":"${secretTags.table}","Value":{"Ref":"${id}"}}`),
    ]);
  });

  const indexNames =
    "due events clientReceiverEvents number attention week client clientCampaign campaign agent".split(
      " ",
    );
  it("keeps the ledger: point-in-time recovery, ttl, no deletion, the adapter's keys and indexes", () => {
    template.hasResource("AWS::DynamoDB::GlobalTable", {
      DeletionPolicy: "RetainExceptOnCreate",
      Properties: {
        BillingMode: "PAY_PER_REQUEST",
        TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true },
        KeySchema: [
          { AttributeName: "pk", KeyType: "HASH" },
          { AttributeName: "sk", KeyType: "RANGE" },
        ],
        GlobalSecondaryIndexes: indexNames.map((IndexName) =>
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

  it("sweeps, dispatches and keeps up every minute, beside the queue and without repeating any", () => {
    for (const [ScheduleExpression, Input] of [
      ["rate(1 minute)", '{"scheduled":"sweep"}'],
      ["rate(1 minute)", '{"scheduled":"dispatch"}'],
      ["rate(1 minute)", '{"scheduled":"upkeep"}'],
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
    template.allResourcesProperties("AWS::Lambda::EventInvokeConfig", {
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
    });
    template.resourceCountIs("AWS::Lambda::EventInvokeConfig", 2);
  });

  it("runs the dispatcher for a quarter of an hour, under a name that the dialer knows, outside its reservation", () => {
    const staging = templateOf({ dialerConcurrency: 30 }, "OutboundCalls-staging");
    const [dispatcher, ...others] = propertiesOf(staging, "AWS::Lambda::Function").filter(
      ({ FunctionName }) => FunctionName !== undefined,
    );
    expect(others).toEqual([]);
    expect(dispatcher).toMatchObject({
      FunctionName: "OutboundCalls-staging-dispatcher",
      Timeout: 900,
      Environment: { Variables: { CONSUMERS: "22" } },
    });
    expect(dispatcher).not.toHaveProperty("ReservedConcurrentExecutions");
    const variables = propertiesOf(staging, "AWS::Lambda::Function").map(
      ({ Environment }): Record<string, string> => Object(Environment).Variables,
    );
    expect(variables.map((one) => [one["DISPATCHER_FUNCTION"], one["CONSUMERS"]])).toEqual([
      [undefined, undefined],
      ["OutboundCalls-staging-dispatcher", "22"],
      ["OutboundCalls-staging-dispatcher", "22"],
    ]);
  });

  it("updates the dispatcher before the dialer, and both before the API, whose calls they decide", () => {
    const functions = Object.entries(template.findResources("AWS::Lambda::Function"));
    const [api = "", dialer = "", dispatcher] = functions.map(([id]) => id);
    const before = Object.fromEntries(functions.map(([id, { DependsOn }]) => [id, DependsOn]));
    expect(before[dialer]).toContain(dispatcher);
    expect(before[api]).toContain(dialer);
  });

  it("runs all functions on Node 24, arm64, and holds no secret", () => {
    const names = resources("AWS::Lambda::Function").map(
      ({ Runtime, Architectures, Environment }) => {
        expect([Runtime, Architectures]).toEqual(["nodejs24.x", ["arm64"]]);
        return Object.keys(Object(Environment).Variables).toSorted().join();
      },
    );
    const dialing =
      "BASE_PATH,BUCKET,CONSUMERS,DISPATCHER_FUNCTION,EVENTS_QUEUE_URL,QUEUE_URL,SECRET_IDS,TABLE";
    expect(names).toEqual([
      "BASE_PATH,BUCKET,EVENTS_QUEUE_URL,QUEUE_URL,SECRET_IDS,TABLE",
      dialing,
      dialing,
    ]);
    const [secret] = resources("AWS::SecretsManager::Secret");
    expect(secret).not.toHaveProperty("SecretString");
  });

  it("has HASH_KEY made once, 64 hex digits that no template holds, and keeps it with the table", () => {
    // Secrets Manager generates anew whenever this object changes, and every hash of a number would be lost.
    template.hasResource("AWS::SecretsManager::Secret", {
      DeletionPolicy: "RetainExceptOnCreate",
      UpdateReplacePolicy: "Retain",
      Properties: {
        GenerateSecretString: {
          SecretStringTemplate: "{}",
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

  it("is never given a named stage that one of its paths begins with", () => {
    const paths = resources("AWS::ApiGatewayV2::Route").flatMap(({ RouteKey }) =>
      RouteKey === "$default" ? [] : [String(RouteKey).split("/")[1]],
    );
    const stages = [...new Set(paths)];
    expect(stages).toEqual(expect.arrayContaining(["v1", "operator"]));
    for (const stage of stages) {
      const json = JSON.stringify({ default: { stage } });
      expect(() => deploymentOf(undefined, json), stage).toThrow(/must not be v1, operator/);
    }
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
      /dead-letter queue for 5 minutes/,
      /an hour late/,
      /keep up/,
      /none was finished for 15 minutes/,
      /none was finished for 30 minutes/,
      /in trouble/,
      /decision/,
      /may expire undialed/,
      /dialer's function/,
      /dispatcher's function/,
      /dialer's log or the dispatcher's/,
      /API's log/,
      /5XX/,
    ]) {
      expect(descriptions.filter((one) => expected.test(one))).toHaveLength(1);
    }
  });
});
