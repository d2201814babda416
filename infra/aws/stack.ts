import { resolve } from "node:path";
import {
  aws_apigatewayv2 as apigateway,
  aws_cloudwatch as cloudwatch,
  aws_cloudwatch_actions as actions,
  aws_dynamodb as dynamodb,
  aws_events as events,
  aws_events_targets as targets,
  aws_iam as iam,
  aws_lambda as lambda,
  aws_lambda_event_sources as sources,
  aws_logs as logs,
  aws_s3 as s3,
  aws_secretsmanager as secretsmanager,
  aws_sns as sns,
  aws_sns_subscriptions as subscriptions,
  aws_sqs as sqs,
  CfnOutput,
  Duration,
  RemovalPolicy,
  Stack,
  Validations,
} from "aws-cdk-lib";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Construct } from "constructs";
import { dynamoTable } from "../../shared/ledger/dynamodb-table.ts";
import type { ScheduledEvent } from "../../functions/dialer/lambda.ts";
import type { FunctionName } from "./bundle.ts";

export interface OutboundCallsProps {
  /** Folder of the built functions, each in a folder of its own. */
  bundles: string;
  /** A named stage beside `$default`. It must not be `v1`, which the routes begin with. */
  stage?: string | undefined;
  /** Base path that a custom domain puts in front. */
  basePath?: string | undefined;
  /** True to enable the operator API, which lets the API's function read and write calls. */
  operator?: boolean | undefined;
  /** E-mail address that receives alarms. */
  alarmEmail?: string | undefined;
  /** Concurrent invocations of the dialer that are reserved to it: at least 6, if the account's quota has room. */
  dialerConcurrency?: number | undefined;
}

/** Maximum concurrent deliveries of the call queue without a reservation, and of the dead-letter queue. */
const deliveriesAtOnce = 20;
const deadDeliveriesAtOnce = 2;
/** Reserved invocations kept free for the sweep and the purge, which must not wait for deliveries. */
const scheduledAtOnce = 2;

const dialerTimeout = Duration.seconds(120);
/** Six times the function's timeout, as Lambda's documentation asks of a queue that it polls. */
const visibilityTimeout = Duration.seconds(6 * 120);
const retentionPeriod = Duration.days(14);
const logRetention = logs.RetentionDays.ONE_MONTH;
/** Limits above the design load: a request refused here with 429 never reaches the application. */
const throttle = { rateLimit: 2000, burstLimit: 4000 };

/**
 * Returns the maximum concurrent deliveries of the call queue: the reservation less the invocations kept for
 * others.
 */
function deliveriesOf(dialerConcurrency: number | undefined): number {
  if (dialerConcurrency === undefined) return deliveriesAtOnce;
  const others = deadDeliveriesAtOnce + scheduledAtOnce;
  const deliveries = dialerConcurrency - others;
  // Lambda accepts no maximum below two.
  if (Number.isInteger(deliveries) && deliveries >= 2) return deliveries;
  throw new Error(`dialerConcurrency must be a whole number, at least ${others + 2}`);
}

/** The service on AWS: an HTTP API, two functions, a queue with its dead-letter queue, a table, a bucket. */
export class OutboundCallsStack extends Stack {
  constructor(scope: Construct, id: string, props: OutboundCallsProps) {
    super(scope, id);

    const deadQueue = new sqs.Queue(this, "DeadCalls", {
      queueName: `${id}-dead`, // the dialer recognises it by this suffix
      visibilityTimeout,
      retentionPeriod,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
    });
    const queue = new sqs.Queue(this, "Calls", {
      visibilityTimeout,
      retentionPeriod,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      deadLetterQueue: { queue: deadQueue, maxReceiveCount: 100 },
    });
    const { hashKey, rangeKey, ttl, indexes } = dynamoTable;
    const key = (name: string) => ({ name, type: dynamodb.AttributeType.STRING });
    const table = new dynamodb.TableV2(this, "Ledger", {
      partitionKey: key(hashKey),
      sortKey: key(rangeKey),
      globalSecondaryIndexes: Object.entries(indexes).map(([indexName, index]) => ({
        indexName,
        partitionKey: key(index.hashKey),
        sortKey: key(index.rangeKey),
        projectionType: dynamodb.ProjectionType.KEYS_ONLY,
      })),
      billing: dynamodb.Billing.onDemand(),
      timeToLiveAttribute: ttl,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: RemovalPolicy.RETAIN,
      deletionProtection: true,
    });
    const bucket = new s3.Bucket(this, "Messages", {
      encryption: s3.BucketEncryption.S3_MANAGED,
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      // Must be longer than the retention of both queues together.
      lifecycleRules: ["messages/", "dead-letters/"].map((prefix) => ({
        prefix,
        expiration: Duration.days(30),
      })),
      removalPolicy: RemovalPolicy.RETAIN,
    });
    // Secrets Manager generates HASH_KEY: 64 hex digits that no template and no person has seen.
    const settings = new secretsmanager.Secret(this, "Settings", {
      description: "API_TOKENS and HASH_KEY, as a JSON object",
      generateSecretString: {
        secretStringTemplate: JSON.stringify({ API_TOKENS: [] }),
        generateStringKey: "HASH_KEY",
        passwordLength: 64,
        excludePunctuation: true,
        excludeUppercase: true,
        excludeCharacters: "ghijklmnopqrstuvwxyz",
        requireEachIncludedType: false,
      },
    });

    const providerSecrets = new secretsmanager.Secret(this, "ProviderSecrets", {
      description: "The dialing providers' secrets, such as WEBHOOK_SECRET, as a JSON object",
      generateSecretString: { secretStringTemplate: "{}", generateStringKey: "UNUSED" },
    });

    const createFunction = (
      name: FunctionName,
      timeout: Duration,
      secrets: secretsmanager.Secret[],
      reservedConcurrentExecutions?: number,
    ) => {
      const logGroup = new logs.LogGroup(this, `${name}-log`, {
        retention: logRetention,
        removalPolicy: RemovalPolicy.DESTROY,
      });
      const role = new iam.Role(this, `${name}-role`, {
        assumedBy: new iam.ServicePrincipal("lambda.amazonaws.com"),
      });
      logGroup.grantWrite(role);
      const made = new lambda.Function(this, name, {
        runtime: lambda.Runtime.NODEJS_24_X,
        architecture: lambda.Architecture.ARM_64,
        handler: "index.handler",
        code: lambda.Code.fromAsset(resolve(props.bundles, name)),
        memorySize: 512,
        ...(reservedConcurrentExecutions === undefined ? {} : { reservedConcurrentExecutions }),
        timeout,
        role,
        logGroup,
        environment: {
          QUEUE_URL: queue.queueUrl,
          DEAD_QUEUE_URL: deadQueue.queueUrl,
          BUCKET: bucket.bucketName,
          TABLE: table.tableName,
          SECRET_IDS: secrets.map(({ secretArn }) => secretArn).join(),
          ...(props.basePath === undefined ? {} : { BASE_PATH: props.basePath }),
        },
      });
      for (const secret of secrets) secret.grantRead(role);
      queue.grantSendMessages(role);
      return { made, role, logGroup };
    };
    const api = createFunction("api", Duration.seconds(29), [settings]);
    const secretsOfDialer = [settings, providerSecrets];
    const { dialerConcurrency } = props;
    const dialer = createFunction("dialer", dialerTimeout, secretsOfDialer, dialerConcurrency);

    const allow = (role: iam.Role, actionNames: string[], resources: string[]) =>
      role.addToPolicy(new iam.PolicyStatement({ actions: actionNames, resources }));
    const objects = bucket.arnForObjects("messages/*");
    allow(api.role, ["s3:PutObject"], [objects]);
    allow(dialer.role, ["s3:PutObject", "s3:GetObject"], [objects]);
    allow(dialer.role, ["s3:PutObject"], [bucket.arnForObjects("dead-letters/*")]);
    const allowLedger = (role: iam.Role) => {
      const onItems = ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"];
      allow(
        role,
        onItems.map((name) => `dynamodb:${name}`),
        [table.tableArn],
      );
      const arns = Object.keys(indexes).map((index) => `${table.tableArn}/index/${index}`);
      // Documents of a kind are listed by a query of the table itself.
      allow(role, ["dynamodb:Query"], [table.tableArn, ...arns]);
    };
    allowLedger(dialer.role);
    if (props.operator === true) allowLedger(api.role);
    else {
      // The API reads and writes idempotency keys, but no calls.
      api.role.addToPolicy(
        new iam.PolicyStatement({
          actions: ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:PutItem"],
          resources: [table.tableArn],
          conditions: {
            "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["doc#idempotency-key#*"] },
          },
        }),
      );
    }
    for (const [source, batchSize, maxConcurrency] of [
      // A message holds up to 25 calls, and a delivery at most a hundred.
      [queue, 4, deliveriesOf(dialerConcurrency)],
      [deadQueue, 1, deadDeliveriesAtOnce], // a request of ten thousand calls takes as many writes
    ] as const) {
      dialer.made.addEventSource(
        new sources.SqsEventSource(source, {
          batchSize,
          maxConcurrency,
          reportBatchItemFailures: true,
        }),
      );
    }

    const httpApi = new apigateway.HttpApi(this, "HttpApi", {
      defaultIntegration: new HttpLambdaIntegration("Api", api.made),
      createDefaultStage: false,
    });
    const accessLog = new logs.LogGroup(this, "access-log", {
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    for (const stageName of ["$default", ...(props.stage === undefined ? [] : [props.stage])]) {
      const name = stageName === "$default" ? "DefaultStage" : "NamedStage";
      const stage = new apigateway.HttpStage(this, name, {
        httpApi,
        stageName,
        autoDeploy: true,
        throttle,
        accessLogSettings: { destination: new apigateway.LogGroupLogDestination(accessLog) },
      });
      new CfnOutput(this, `${name}Url`, { value: stage.url });
    }

    // Schedules run beside the queue, so a sweep waits behind no delivery. A late invocation is useless, as
    // the next one follows.
    const noRepeats = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };
    dialer.made.configureAsyncInvoke(noRepeats);
    for (const [name, scheduled, rate] of [
      ["SweepEveryMinute", "sweep", Duration.minutes(1)],
      ["PurgeEveryHour", "purge", Duration.hours(1)],
    ] as const) {
      const event = events.RuleTargetInput.fromObject({ scheduled } satisfies ScheduledEvent);
      new events.Rule(this, name, {
        schedule: events.Schedule.rate(rate),
        targets: [new targets.LambdaFunction(dialer.made, { event, ...noRepeats })],
      });
    }

    this.#watch({ ...props, queue, deadQueue, api, dialer, httpApi });
    this.#acknowledge(bucket);
    new CfnOutput(this, "SettingsSecret", { value: settings.secretName });
    new CfnOutput(this, "ProviderSecretsSecret", { value: providerSecrets.secretName });
    new CfnOutput(this, "LedgerTable", { value: table.tableName });
  }

  /** Creates alarms for conditions that a person must act on, and a dashboard. */
  #watch(watched: {
    alarmEmail?: string | undefined;
    queue: sqs.Queue;
    deadQueue: sqs.Queue;
    api: { made: lambda.Function; logGroup: logs.LogGroup };
    dialer: { made: lambda.Function; logGroup: logs.LogGroup };
    httpApi: apigateway.HttpApi;
  }): void {
    const { alarmEmail, queue, deadQueue, api, dialer, httpApi } = watched;
    const topic = new sns.Topic(this, "Alarms", { enforceSSL: true });
    // `enforceSSL` replaces the topic's default policy, which allowed CloudWatch to publish.
    topic.grantPublish(
      new iam.ServicePrincipal("cloudwatch.amazonaws.com", {
        conditions: { StringEquals: { "aws:SourceAccount": this.account } },
      }),
    );
    if (alarmEmail !== undefined)
      topic.addSubscription(new subscriptions.EmailSubscription(alarmEmail));

    /** Counts log lines that name an event. The pattern matches text, as console output has a prefix. */
    const logged = (event: string) => {
      const filter = new logs.MetricFilter(this, `${event}-count`, {
        logGroup: dialer.logGroup,
        filterPattern: logs.FilterPattern.allTerms(event),
        metricNamespace: "OutboundCalls",
        metricName: event,
      });
      return filter.metric({ statistic: "Sum", period: Duration.minutes(1) });
    };
    const minute = { period: Duration.minutes(1) };
    /** Counts all events of level `alarm`, which a person must act on. */
    const raised = (name: string, logGroup: logs.LogGroup) =>
      new logs.MetricFilter(this, `${name}-alarm-count`, {
        logGroup,
        filterPattern: logs.FilterPattern.allTerms("level", "alarm"),
        metricNamespace: "OutboundCalls",
        metricName: `${name}.alarm`,
      }).metric({ statistic: "Sum", ...minute });
    const opened = logged("breaker.opened");
    const review = logged("call.needs_review");
    const fullRounds = logged("sweep.full");
    const alarms: [string, cloudwatch.IMetric, number, string][] = [
      [
        "DeadLetters",
        deadQueue.metricApproximateNumberOfMessagesVisible(minute),
        0,
        "messages failed a hundred times",
      ],
      [
        "OldestMessage",
        queue.metricApproximateAgeOfOldestMessage(minute),
        900,
        "the dialer does not keep up, or cannot dial",
      ],
      [
        "BreakerOpened",
        opened,
        0,
        "an account, a route or an agent of the dial plan is in trouble",
      ],
      [
        "DialerAlarms",
        raised("dialer", dialer.logGroup),
        0,
        "the dialer's log has an event of level alarm",
      ],
      ["ApiAlarms", raised("api", api.logGroup), 0, "the API's log has an event of level alarm"],
      ["CallsNeedReview", review, 0, "calls wait for a person's decision"],
      ["DialerErrors", dialer.made.metricErrors(minute), 0, "the dialer's function fails"],
      ["ApiErrors", api.made.metricErrors(minute), 0, "the API's function fails"],
      ["ServerErrors", httpApi.metricServerError(minute), 0, "requests are answered 5XX"],
    ];
    for (const [name, metric, threshold, alarmDescription] of alarms) {
      new cloudwatch.Alarm(this, name, {
        metric,
        threshold,
        evaluationPeriods: 1,
        comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
        alarmDescription,
      }).addAlarmAction(new actions.SnsAction(topic));
    }

    new cloudwatch.Alarm(this, "SweepLate", {
      metric: fullRounds.with({ period: Duration.minutes(5) }),
      threshold: 1,
      evaluationPeriods: 1,
      comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
      treatMissingData: cloudwatch.TreatMissingData.BREACHING,
      alarmDescription: "no sweep has looked through everything for five minutes",
    }).addAlarmAction(new actions.SnsAction(topic));

    const graph = (title: string, left: cloudwatch.IMetric[]) =>
      new cloudwatch.GraphWidget({ title, left, width: 12 });
    new cloudwatch.Dashboard(this, "Dashboard", {
      widgets: [
        [
          graph("Requests", [httpApi.metricCount(minute), httpApi.metricServerError(minute)]),
          graph("Acceptance, p99", [httpApi.metricLatency({ ...minute, statistic: "p99" })]),
        ],
        [
          graph("Calls", [
            logged("call.placed"),
            logged("call.waiting"),
            logged("call.rejected"),
            review,
          ]),
          graph("Queue", [
            queue.metricApproximateNumberOfMessagesVisible(minute),
            queue.metricApproximateAgeOfOldestMessage(minute),
          ]),
        ],
        [
          graph("Dialer", [dialer.made.metricErrors(minute), dialer.made.metricThrottles(minute)]),
          graph("Breakers opened", [opened]),
        ],
      ],
    });
  }

  /** Acknowledges the AwsSolutions rules that do not apply here, each with its reason. */
  #acknowledge(bucket: s3.Bucket): void {
    const bucketId =
      bucket.node.defaultChild === undefined ? "" : this.resolve(bucket.bucketName).Ref;
    const reasons: Record<string, string> = {
      "AwsSolutions-APIG4":
        "The function authenticates: bearer tokens with agents and an end, compared in constant time.",
      "AwsSolutions-S1":
        "The bucket holds queue messages for 30 days; only the two functions' roles can reach it.",
      "AwsSolutions-SMG4":
        "The secret holds tokens that clients know: rotated by adding one and removing one, not by a schedule.",
      [`AwsSolutions-IAM5[Resource::<${bucketId}.Arn>/messages/*]`]:
        "A message's object has a random key below messages/.",
      [`AwsSolutions-IAM5[Resource::<${bucketId}.Arn>/dead-letters/*]`]:
        "A dead letter's object has the message's id below dead-letters/.",
    };
    for (const [id, reason] of Object.entries(reasons)) {
      Validations.of(this).acknowledge({ id: `AwsSolutions::${id}`, reason });
    }
  }
}
