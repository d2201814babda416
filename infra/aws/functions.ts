import { resolve } from "node:path";
import {
  aws_events as events,
  aws_events_targets as targets,
  aws_iam as iam,
  aws_lambda as lambda,
  aws_lambda_event_sources as sources,
  aws_logs as logs,
  type aws_secretsmanager as secretsmanager,
  Duration,
  RemovalPolicy,
  type Stack,
} from "aws-cdk-lib";
import type { ScheduledEvent } from "../../functions/dialer/lambda.ts";
import { epochPrefix } from "../../shared/documents/restore.ts";
import type { FunctionName } from "./bundle.ts";
import { allowAmazonConnect } from "./connect-rights.ts";
import { allowApiLedger, allowLedger } from "./ledger-rights.ts";
import { deliveriesOf, dialerTimeoutSeconds, otherDeliveriesAtOnce } from "./limits.ts";
import type { OutboundCallsProps } from "./props.ts";
import type { Storage } from "./storage.ts";

export const logRetention = logs.RetentionDays.ONE_MONTH;

/** The API's and the dialer's functions, each with its role, its log and what invokes it. */
export function createFunctions(stack: Stack, props: OutboundCallsProps, storage: Storage) {
  const { queue, deadQueue, eventsQueue, deadEventsQueue, table, bucket } = storage;
  const { settings, providerSecrets } = storage;
  const { clientRights = [] } = props;
  const createFunction = (
    name: FunctionName,
    timeout: Duration,
    secrets: secretsmanager.Secret[],
    reservedConcurrentExecutions?: number,
  ) => {
    const logGroup = new logs.LogGroup(stack, `${name}-log`, {
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new iam.Role(stack, `${name}-role`, {
      assumedBy: new iam.ServicePrincipal("lambda.amazonaws.com"),
    });
    logGroup.grantWrite(role);
    const made = new lambda.Function(stack, name, {
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      handler: "index.handler",
      code: lambda.Code.fromAsset(resolve(props.bundles, name)),
      memorySize: 512,
      ...(reservedConcurrentExecutions === undefined ? {} : { reservedConcurrentExecutions }),
      timeout,
      role,
      logGroup,
      // Metric filters read the fields of the events.
      loggingFormat: lambda.LoggingFormat.JSON,
      // A trace holds the invocation alone, as the SDK is not instrumented.
      tracing: props.xray === true ? lambda.Tracing.ACTIVE : lambda.Tracing.DISABLED,
      environment: {
        QUEUE_URL: queue.queueUrl,
        DEAD_QUEUE_URL: deadQueue.queueUrl,
        EVENTS_QUEUE_URL: eventsQueue.queueUrl,
        DEAD_EVENTS_QUEUE_URL: deadEventsQueue.queueUrl,
        BUCKET: bucket.bucketName,
        TABLE: table.tableName,
        SECRET_IDS: secrets.map(({ secretArn }) => secretArn).join(),
        ...(props.basePath === undefined ? {} : { BASE_PATH: props.basePath }),
        ...(name === "api" && clientRights.length > 0
          ? { CLIENT_RIGHTS: clientRights.join() }
          : {}),
      },
    });
    for (const secret of secrets) secret.grantRead(role);
    queue.grantSendMessages(role);
    eventsQueue.grantSendMessages(role);
    return { made, role, logGroup };
  };
  const api = createFunction("api", Duration.seconds(29), [settings]);
  const secretsOfDialer = [settings, providerSecrets];
  const { dialerConcurrency } = props;
  const dialer = createFunction(
    "dialer",
    Duration.seconds(dialerTimeoutSeconds),
    secretsOfDialer,
    dialerConcurrency,
  );

  const allow = (role: iam.Role, actionNames: string[], resources: string[]) =>
    role.addToPolicy(new iam.PolicyStatement({ actions: actionNames, resources }));
  const objects = bucket.arnForObjects("messages/*");
  allow(api.role, ["s3:PutObject"], [objects]);
  allow(dialer.role, ["s3:PutObject", "s3:GetObject"], [objects]);
  allow(dialer.role, ["s3:PutObject"], [bucket.arnForObjects("dead-letters/*")]);
  allow(
    dialer.role,
    ["s3:PutObject", "s3:DeleteObject"],
    [bucket.arnForObjects(`${epochPrefix}*`)],
  );
  // The epoch is the first name of a list.
  allow(dialer.role, ["s3:ListBucket"], [bucket.bucketArn]);
  allowLedger(dialer.role, table);
  allowApiLedger(api.role, table, props);
  if (props.plan !== undefined) allowAmazonConnect(stack, dialer.role, props.plan);
  for (const [source, batchSize, maxConcurrency] of [
    // A message holds up to 25 calls, and a delivery at most a hundred.
    [queue, 4, deliveriesOf(dialerConcurrency)],
    [deadQueue, 1, otherDeliveriesAtOnce], // a request of ten thousand calls takes as many writes
    [eventsQueue, 10, otherDeliveriesAtOnce],
    [deadEventsQueue, 10, otherDeliveriesAtOnce],
  ] as const) {
    dialer.made.addEventSource(
      new sources.SqsEventSource(source, {
        batchSize,
        maxConcurrency,
        reportBatchItemFailures: true,
      }),
    );
  }
  scheduleSweeps(stack, dialer.made);
  return { api, dialer };
}
export type Functions = ReturnType<typeof createFunctions>;

/** Invokes the sweep every minute and the purge every hour. */
function scheduleSweeps(stack: Stack, dialer: lambda.Function): void {
  // Schedules run beside the queue, so a sweep waits behind no delivery. A late invocation is useless, as
  // the next one follows.
  const noRepeats = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };
  dialer.configureAsyncInvoke(noRepeats);
  for (const [name, scheduled, rate] of [
    ["SweepEveryMinute", "sweep", Duration.minutes(1)],
    ["PurgeEveryHour", "purge", Duration.hours(1)],
  ] as const) {
    const event = events.RuleTargetInput.fromObject({ scheduled } satisfies ScheduledEvent);
    new events.Rule(stack, name, {
      schedule: events.Schedule.rate(rate),
      targets: [new targets.LambdaFunction(dialer, { event, ...noRepeats })],
    });
  }
}
