import {
  ArnFormat,
  aws_events as events,
  aws_events_targets as targets,
  aws_iam as iam,
  type aws_lambda as lambda,
  aws_lambda_event_sources as sources,
  type aws_s3 as s3,
  Duration,
  type Stack,
} from "aws-cdk-lib";
import type { ScheduledEvent } from "#functions/dialer/lambda.ts";
import { epochPrefix } from "#shared/ports/epoch-store.ts";
import { journalPrefix } from "#shared/ports/journal.ts";
import { letterPrefix } from "#shared/ports/dead-letters.ts";
import { allowAmazonConnect } from "./connect-rights.ts";
import { createFunction } from "./lambda-function.ts";
import { allowApiLedger, allowDispatcherLedger, allowLedger } from "./ledger-rights.ts";
import {
  apiTimeoutSeconds,
  deliveriesOf,
  dialerTimeoutSeconds,
  dispatcherTimeoutSeconds,
  eventsDeliveriesAtOnce,
  deadDeliveriesAtOnce,
} from "./limits.ts";
import type { OutboundCallsProps } from "./props.ts";
import type { Storage } from "./storage.ts";

/**
 * The API's, the dialer's and the dispatcher's functions, each with its role and its log, and what invokes them. The
 * dispatcher has the dialer's bundle: it is a loop of minutes, which must not take an invocation from the deliveries.
 */
export function createFunctions(stack: Stack, props: OutboundCallsProps, storage: Storage) {
  const { table, bucket, settings, providerSecrets } = storage;
  const { clientRights = [], dialerConcurrency, plan } = props;
  const api = createFunction(stack, "api", {
    options: {
      bundle: "api",
      timeoutSeconds: apiTimeoutSeconds,
      secrets: [settings],
      environment: clientRights.length > 0 ? { CLIENT_RIGHTS: clientRights.join() } : {},
    },
    props,
    storage,
  });
  // The dispatcher's name is known before the function, as it may wake itself too.
  const functionName = `${stack.stackName}-dispatcher`;
  const dialing = {
    bundle: "dialer",
    // The settings come last, so that dialer and API agree on a value that both secrets hold.
    secrets: [providerSecrets, settings],
    environment: {
      CONSUMERS: String(deliveriesOf(dialerConcurrency)),
      DISPATCHER_FUNCTION: functionName,
    },
  } as const;
  const dialer = createFunction(stack, "dialer", {
    options: {
      ...dialing,
      timeoutSeconds: dialerTimeoutSeconds,
      ...(dialerConcurrency === undefined
        ? {}
        : { reservedConcurrentExecutions: dialerConcurrency }),
    },
    props,
    storage,
  });
  const dispatcher = createFunction(stack, "dispatcher", {
    options: { ...dialing, functionName, timeoutSeconds: dispatcherTimeoutSeconds },
    props,
    storage,
  });
  orderUpdates(api.made, dialer.made, dispatcher.made);

  allowObjects(bucket, { api: api.role, dialer: dialer.role, dispatcher: dispatcher.role });
  if (props.operator !== false) allowOperatorObjects(bucket, api.role);
  allowLedger(dialer.role, table);
  allowDispatcherLedger(dispatcher.role, table);
  allowApiLedger(api.role, table, props);
  if (plan !== undefined) allowAmazonConnect(stack, dialer.role, plan);
  const arn = stack.formatArn({
    service: "lambda",
    resource: "function",
    resourceName: functionName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  for (const { role } of [dialer, dispatcher]) allow(role, ["lambda:InvokeFunction"], [arn]);
  deliverQueues({ api: api.made, dialer: dialer.made }, dialerConcurrency, storage);
  schedule(stack, dialer.made, [
    ["SweepEveryMinute", "sweep", Duration.minutes(1)],
    ["UpkeepEveryMinute", "upkeep", Duration.minutes(1)],
  ]);
  schedule(stack, dispatcher.made, [["DispatchEveryMinute", "dispatch", Duration.minutes(1)]]);
  return { api, dialer, dispatcher };
}
export type Functions = ReturnType<typeof createFunctions>;

/** Updates the API last: it accepts calls by its plan, so the functions that decide these calls get the plan first. */
function orderUpdates(api: lambda.Function, dialer: lambda.Function, dispatcher: lambda.Function) {
  dialer.node.addDependency(dispatcher);
  api.node.addDependency(dialer);
}

/** Allows each role the bucket's objects that its function reads or writes. */
function allowObjects(
  bucket: s3.Bucket,
  { api, dialer, dispatcher }: Record<"api" | "dialer" | "dispatcher", iam.Role>,
): void {
  const messages = [bucket.arnForObjects("messages/*")];
  // The API keeps dead letters, whose messages may be objects.
  allow(api, ["s3:PutObject", "s3:GetObject"], messages);
  const journal = bucket.arnForObjects(`${journalPrefix}*`);
  allow(api, ["s3:PutObject"], [bucket.arnForObjects(`${letterPrefix}*`), journal]);
  allow(dialer, ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"], [journal]);
  allow(dialer, ["s3:PutObject", "s3:GetObject"], messages);
  allow(dialer, ["s3:GetObject", "s3:DeleteObject"], [bucket.arnForObjects(`${letterPrefix}*`)]);
  allow(dialer, ["s3:PutObject", "s3:DeleteObject"], [bucket.arnForObjects(`${epochPrefix}*`)]);
  // The epoch is the first name of a list.
  for (const role of [dialer, dispatcher]) allow(role, ["s3:ListBucket"], [bucket.bucketArn]);
}

/**
 * Allows the API's role what operators need of the bucket: to list, read and remove dead letters, and to see the epoch, without which no
 * token that they made is valid. For an absent object S3 answers 404 only to a role that may list its name as a prefix, and
 * 403 otherwise.
 */
function allowOperatorObjects(bucket: s3.Bucket, api: iam.Role): void {
  allow(api, ["s3:GetObject", "s3:DeleteObject"], [bucket.arnForObjects(`${letterPrefix}*`)]);
  api.addToPolicy(
    new iam.PolicyStatement({
      actions: ["s3:ListBucket"],
      resources: [bucket.bucketArn],
      conditions: { StringLike: { "s3:prefix": [`${letterPrefix}*`, `${epochPrefix}*`] } },
    }),
  );
}

function allow(role: iam.Role, actions: string[], resources: string[]): void {
  role.addToPolicy(new iam.PolicyStatement({ actions, resources }));
}

/** Has the messages of the queues delivered to the dialer, and their dead letters to the API. */
function deliverQueues(
  { api, dialer }: Record<"api" | "dialer", lambda.Function>,
  dialerConcurrency: number | undefined,
  { queue, deadQueue, eventsQueue, deadEventsQueue }: Storage,
): void {
  for (const [consumer, source, batchSize, maxConcurrency] of [
    // A delivery is one message of up to 25 calls, so that quick calls share none with slow ones.
    [dialer, queue, 1, deliveriesOf(dialerConcurrency)],
    [api, deadQueue, 1, deadDeliveriesAtOnce], // a message of up to 4 MiB
    [dialer, eventsQueue, 10, eventsDeliveriesAtOnce],
    [api, deadEventsQueue, 10, deadDeliveriesAtOnce],
  ] as const) {
    consumer.addEventSource(
      new sources.SqsEventSource(source, {
        batchSize,
        maxConcurrency,
        reportBatchItemFailures: true,
      }),
    );
  }
}

/** Has a function invoked by schedules. */
function schedule(
  stack: Stack,
  target: lambda.Function,
  schedules: readonly [name: string, scheduled: ScheduledEvent["scheduled"], rate: Duration][],
): void {
  // Schedules run beside the queue, so they wait for no delivery. A late invocation is useless, because the next one
  // follows.
  const noRepeats = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };
  target.configureAsyncInvoke(noRepeats);
  for (const [name, scheduled, rate] of schedules) {
    const event = events.RuleTargetInput.fromObject({ scheduled } satisfies ScheduledEvent);
    new events.Rule(stack, name, {
      schedule: events.Schedule.rate(rate),
      targets: [new targets.LambdaFunction(target, { event, ...noRepeats })],
    });
  }
}
