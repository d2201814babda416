import type { Template } from "#infra/aws/cdk.ts";
import { describe, expect, it } from "vitest";
import { parseDialPlan } from "../support/plans.ts";
import { propertiesOf, useStacks } from "../support/aws-stacks.ts";

const { templateOf, expectNoObjection } = useStacks();
const template = templateOf({ stage: "prod", basePath: "/phone", operator: false });
const resources = (type: string) => propertiesOf(template, type);

const statementsOf = (stack: Template, role: string): unknown[] =>
  Object.values(stack.findResources("AWS::IAM::Policy"))
    .filter((policy) => JSON.stringify(policy).includes(`"Ref":"${role}`))
    .flatMap(({ Properties }) => Object(Properties).PolicyDocument.Statement);

/** Returns the partitions of the ledger in which the API may update items. */
const updatedIn = (stack: Template): unknown =>
  statementsOf(stack, "apirole")
    .filter((one) => JSON.stringify(one).includes("dynamodb:UpdateItem"))
    .flatMap((one) => Object(one).Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);

describe("the rights that the AWS stack gives", () => {
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
    const isOfConnect = (statement: unknown) => JSON.stringify(statement).includes("connect:");

    it("lets the dialer start contacts of those instances alone, and the API none", () => {
      const stack = templateOf({ plan });
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

    it("gives reasons for these rights, so that cdk-nag reports nothing", () => {
      expectNoObjection({ plan });
    });

    it("gives no such right where the plan has no such route", () => {
      const other = planWith({ d: { provider: "webhook", url: "https://example.com/dial" } });
      const stack = templateOf({ plan: other });
      expect(statementsOf(stack, "dialerrole").filter(isOfConnect)).toEqual([]);
    });
  });

  it("lets the API reach calls for operators, unless the settings turn that off", () => {
    const policies = propertiesOf(templateOf({}), "AWS::IAM::Policy").map((policy) =>
      JSON.stringify(policy),
    );
    const api = policies.find((policy) => policy.includes('"Ref":"apirole'));
    expect(api).toMatch(/"dynamodb:UpdateItem".*"dynamodb:Query"/);
    expect(api).toContain("/index/events");
    expect(api).not.toContain("ProviderSecrets");
  });

  it("lets the API put numbers onto the do-not-call list for clients, and read no call", () => {
    const other = templateOf({ clientRights: ["opt_out"], operator: false });
    const policies = propertiesOf(other, "AWS::IAM::Policy").map((one) => JSON.stringify(one));
    const api = policies.find((policy) => policy.includes('"Ref":"apirole')) ?? "";
    expect(api).toContain("doc#do-not-call#*");
    expect(api).not.toMatch(/doc#cancellation|"dynamodb:Query"/);
    expect(updatedIn(other)).toEqual(["doc#write-counts#*", "doc#gathered#*"]);
    expect(api).not.toContain('"call#*"');
    expectNoObjection({ clientRights: ["opt_out"], operator: false });
  });

  it("lets the API keep clients' receivers, and read no call", () => {
    const other = templateOf({ clientRights: ["events"], operator: false });
    const policies = propertiesOf(other, "AWS::IAM::Policy").map((one) => JSON.stringify(one));
    const api = policies.find((policy) => policy.includes('"Ref":"apirole')) ?? "";
    expect(api).toContain('["doc#receivers","doc#deliveries#*","doc#replay","doc#client-audit"]');
    expect(api).not.toMatch(/"dynamodb:(Query|DeleteItem)"/);
    expect(updatedIn(other)).toEqual(["doc#write-counts#*"]);
    expect(api).not.toContain('"call#*"');
    expectNoObjection({ clientRights: ["events"], operator: false });
  });

  it.each([
    {
      clientRights: ["read"] as const,
      indexes: ["/index/client", "/index/clientCampaign", "/index/week"],
      written: ["call#*"],
      actions: /^dynamodb:(BatchGetItem|Query)$/,
    },
    {
      clientRights: ["cancel"] as const,
      indexes: ["/index/week"],
      written: ["call#*", "doc#usage", "doc#split-results#*"],
      actions: /^dynamodb:(GetItem|BatchGetItem|PutItem|UpdateItem|Query)$/,
    },
  ])(
    "lets the API do for clients what $clientRights takes, and no more",
    ({ clientRights, indexes, written, actions }) => {
      const statementsOfApi = (one: Template): string[] =>
        statementsOf(one, "apirole")
          .map((statement) => JSON.stringify(statement))
          .filter((statement) => !statement.includes("doc#write-counts"));
      const without = statementsOfApi(template);
      const other = templateOf({ clientRights: [...clientRights], operator: false });
      // A cancelled call's event goes to the client's own receivers.
      const isOfReceivers = (one: string) => one.includes("doc#receivers");
      const more = statementsOfApi(other).filter((one) => !without.includes(one));
      const ofReceivers = more.filter(isOfReceivers).map((one) => Object(JSON.parse(one)).Action);
      const reads = clientRights[0] === "cancel" ? ["dynamodb:BatchGetItem"] : [];
      expect(ofReceivers).toEqual(reads);
      const added = more.filter((one) => !isOfReceivers(one));
      expect(added).toHaveLength(clientRights[0] === "read" ? 4 : 3);
      const queried: string[] = [];
      for (const { Action, Resource, Condition } of added.map((one) => Object(JSON.parse(one)))) {
        for (const action of [Action].flat()) expect(action).toMatch(actions);
        const ofIndexes = JSON.stringify(Resource).match(/\/index\/\w+/g) ?? [];
        queried.push(...ofIndexes);
        const isOfIndex = ofIndexes.length > 0;
        const isQuery = Action === "dynamodb:Query";
        if (isOfIndex) expect(isQuery).toBe(true);
        const partitions = Condition?.["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
        if (!isQuery) expect([partitions].flat()).toEqual(expect.arrayContaining(written));
        if (isQuery && !isOfIndex) expect([partitions].flat()).toEqual(["doc#usage"]);
      }
      expect(queried.toSorted()).toEqual(indexes);
      const variablesOf = (one: Template) =>
        Object.values(one.findResources("AWS::Lambda::Function")).flatMap(
          ({ Properties }) => Object(Properties).Environment?.Variables?.CLIENT_RIGHTS ?? [],
        );
      expect([variablesOf(template), variablesOf(other)]).toEqual([[], [clientRights.join()]]);
      expectNoObjection({ clientRights: [...clientRights], operator: false });
    },
  );

  it("lets the API reach idempotency keys, sent files and heartbeats alone, and no secret but what it shares with the dialer", () => {
    const policies = resources("AWS::IAM::Policy").map((policy) => JSON.stringify(policy));
    const api = policies.filter((policy) => policy.includes('"Ref":"apirole'));
    expect(api).toHaveLength(1);
    expect(api[0]).toContain('"dynamodb:LeadingKeys":["doc#idempotency-key#*","doc#sent-file#*"]');
    // By these /readyz sees whether the dialer works.
    expect(api[0]).toContain(
      '"dynamodb:LeadingKeys":["doc#sweep","doc#dispatcher#dispatcher","doc#restore#ledger"]',
    );
    expect(api[0]).not.toContain("ProviderSecrets");
    expect(api[0]).not.toMatch(/DeleteItem|Query|DeleteObject|ListBucket/);
    expect(updatedIn(template)).toEqual(["doc#write-counts#*"]);
    // The dialer and the dispatcher, which read the same settings.
    expect(policies.filter((policy) => policy.includes("ProviderSecrets"))).toHaveLength(2);
  });

  it("lets the API count calls for the plan's guards, and read what waits only for the guard waiting", () => {
    const planWith = (guards: object | undefined) =>
      parseDialPlan(
        {
          agents: { d: { provider: "webhook", url: "https://example.com/dial" } },
          callingHours: { default: "always" },
          destinations: { allow: ["US"] },
          guards,
        },
        {},
      );
    const rightsOf = (guards: object | undefined) =>
      statementsOf(templateOf({ operator: false, plan: planWith(guards) }), "apirole").map((one) =>
        JSON.stringify(one),
      );
    const without = rightsOf(undefined);
    const added = (guards: object) => rightsOf(guards).filter((one) => !without.includes(one));
    const days = added({ crm: { callsPerDay: 5 } });
    expect(days).toHaveLength(1);
    const names = ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"];
    expect(days[0]).toContain(JSON.stringify(names.map((name) => `dynamodb:${name}`)));
    expect(days[0]).toContain('"dynamodb:LeadingKeys":["doc#day-counts#*"]');
    const waiting = added({ crm: { waiting: 5 } }).filter((one) => !days.includes(one));
    expect(waiting).toHaveLength(3);
    expect(waiting[0]).toContain('"dynamodb:LeadingKeys":["doc#client-waiting#*"]');
    expect(waiting[1]).toContain('"dynamodb:LeadingKeys":["doc#backlog"]');
    expect(waiting[2]).toContain("/index/due");
    expectNoObjection({ operator: false, plan: planWith({ crm: { waiting: 5 } }) });
  });

  it("lets the API keep dead letters, and list, read and remove them alone, where operators are to", () => {
    const onBucket = (stack: Template) =>
      statementsOf(stack, "apirole")
        .map(Object)
        .filter((one) => JSON.stringify(one).includes('"s3:'));
    const kept = onBucket(template);
    // It opens what the dead-letter queues name, and cannot list what else there is.
    expect(kept.map(({ Action }) => Action)).toEqual([
      ["s3:PutObject", "s3:GetObject"],
      "s3:PutObject",
    ]);
    expect(JSON.stringify(kept[0].Resource)).toContain("/messages/*");
    expect(JSON.stringify(kept[1].Resource)).toContain("/dead-letters/*");
    // Without the setting there is an operator API.
    const [objects, list, ...others] = onBucket(templateOf({})).slice(kept.length);
    expect(others).toEqual([]);
    expect(objects.Action).toEqual(["s3:GetObject", "s3:DeleteObject"]);
    expect(JSON.stringify(objects.Resource)).toContain("/dead-letters/*");
    expect(list).toMatchObject({
      Action: "s3:ListBucket",
      // The name of an object too: S3 answers 404 for an absent one only to a role that may list it. By the epoch the
      // API notices a restore, before it trusts a token that operators made.
      Condition: { StringLike: { "s3:prefix": ["dead-letters/*", "epoch/*"] } },
    });
    expectNoObjection({});
  });

  it("lets the dispatcher send to the queues, read and write rows and read the epoch, and no more", () => {
    const actions = statementsOf(template, "dispatcherrole").flatMap(
      (statement): string[] => Object(statement).Action,
    );
    expect([...new Set(actions)].toSorted()).toEqual([
      "dynamodb:BatchGetItem",
      "dynamodb:GetItem",
      "dynamodb:PutItem",
      "dynamodb:Query",
      "dynamodb:UpdateItem",
      "lambda:InvokeFunction",
      "logs:CreateLogStream",
      "logs:PutLogEvents",
      "s3:ListBucket",
      "secretsmanager:DescribeSecret",
      "secretsmanager:GetSecretValue",
      "sqs:GetQueueAttributes",
      "sqs:GetQueueUrl",
      "sqs:SendMessage",
    ]);
    const rights = JSON.stringify(statementsOf(template, "dispatcherrole"));
    expect(rights).toContain("/index/due");
    expect(rights).not.toMatch(/\/index\/(events|number|attention|week)/);
  });

  it("lets dialer and dispatcher invoke the dispatcher's function, and nobody anything else", () => {
    const policies = resources("AWS::IAM::Policy").filter((policy) =>
      JSON.stringify(policy).includes("lambda:InvokeFunction"),
    );
    const invocations = policies.flatMap(({ PolicyDocument, Roles }) =>
      Object(PolicyDocument).Statement.flatMap(
        (statement: { Action: unknown; Resource: unknown }) =>
          statement.Action === "lambda:InvokeFunction"
            ? [
                [
                  Object(Roles)[0].Ref.replace(/[0-9A-F]{8}$/, ""),
                  JSON.stringify(statement.Resource),
                ],
              ]
            : [],
      ),
    );
    const [[, arn]] = invocations;
    expect(arn).toMatch(/:function:OutboundCalls-dispatcher"\]\]\}$/);
    expect(invocations).toEqual([
      ["dialerrole", arn],
      ["dispatcherrole", arn],
    ]);
  });
});
