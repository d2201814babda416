/**
 * `npm run start:aws`: the AWS shape on this machine, without an account. The built Lambda bundles run in
 * separate processes behind a Runtime API, with an API Gateway in front, event sources that poll, and the
 * schedule of the sweep. SQS, S3 and DynamoDB servers speak the real protocols and keep their state on disk.
 */
import { join } from "node:path";
import { bundleFunction, functionNames } from "../aws/bundle.ts";
import { startApiGateway } from "./api-gateway.ts";
import { localRegion, startAwsEngines } from "./aws-engines.ts";
import { startEventSource } from "./event-source.ts";
import { mendIndexes } from "./mend-indexes.ts";
import { startFunction } from "./lambda-runtime.ts";
import { host, readLocalSettings, stopAtSignal, sweepSeconds } from "./settings.ts";

const queueName = "outbound-calls";
const deadQueueName = "outbound-calls-dead";
const eventsQueueName = "outbound-calls-events";
const deadEventsQueueName = "outbound-calls-events-dead";
const bucket = "outbound-calls";
const table = "outbound-calls";
const dialerTimeoutSeconds = 120;
/** Short, so that messages held by a killed dialer come again soon. On AWS it is six times the dialer's timeout. */
const visibilitySeconds = Number(process.env["VISIBILITY_SECONDS"] ?? 20);

const settings = await readLocalSettings({ port: 3000, stateDirectory: ".state/aws" });
const { port, stateDirectory } = settings;
const bundles = join(stateDirectory, "build");
const [engines] = await Promise.all([
  startAwsEngines(join(stateDirectory, "engines")),
  ...functionNames.map((name) => bundleFunction(name, join(bundles, name))),
]);
const { sqs } = engines;
await Promise.all([engines.createTable(table), engines.createBucket(bucket)]);
await mendIndexes(engines.dynamo, table);
const createQueue = (name: string, deadLetters?: string) =>
  engines.createQueue(name, {
    VisibilityTimeout: String(visibilitySeconds),
    ...(deadLetters === undefined
      ? {}
      : {
          RedrivePolicy: JSON.stringify({
            deadLetterTargetArn: `arn:aws:sqs:${localRegion}:000000000000:${deadLetters}`,
            maxReceiveCount: 100,
          }),
        }),
  });
const deadQueueUrl = await createQueue(deadQueueName);
const queueUrl = await createQueue(queueName, deadQueueName);
const deadEventsQueueUrl = await createQueue(deadEventsQueueName);
const eventsQueueUrl = await createQueue(eventsQueueName, deadEventsQueueName);

const environment = {
  ...settings.environment,
  ...engines.variables,
  QUEUE_URL: queueUrl,
  DEAD_QUEUE_URL: deadQueueUrl,
  EVENTS_QUEUE_URL: eventsQueueUrl,
  DEAD_EVENTS_QUEUE_URL: deadEventsQueueUrl,
  BUCKET: bucket,
  TABLE: table,
};
const start = (name: string, instances: number, timeoutSeconds: number) =>
  startFunction({
    name,
    bundle: join(bundles, name, "index.mjs"),
    environment,
    instances,
    timeoutSeconds,
  });
const api = await start("api", 2, 30);
/** Maximum concurrent deliveries of the call queue: each waits some seconds for its calls' permits. */
const deliveriesAtOnce = 3;
// One more instance serves the events, one both dead-letter queues and one the schedule: a sweep waits behind no delivery.
const dialer = await start("dialer", deliveriesAtOnce + 3, dialerTimeoutSeconds);
const gateway = await startApiGateway(port, api);
const sources = (
  [
    [queueName, queueUrl, 4, deliveriesAtOnce],
    [deadQueueName, deadQueueUrl, 1, 1],
    [eventsQueueName, eventsQueueUrl, 10, 1],
    [deadEventsQueueName, deadEventsQueueUrl, 10, 1],
  ] as const
).map(([name, url, batchSize, concurrency]) =>
  startEventSource({
    sqs,
    consumer: dialer,
    queueUrl: url,
    queueName: name,
    batchSize,
    concurrency,
  }),
);
const run = (scheduled: "sweep" | "purge") =>
  dialer.invoke({ scheduled }).catch((error: unknown) => {
    if (clock !== undefined) console.error(`The ${scheduled}'s clock failed:`, error);
  });
let clock: NodeJS.Timeout | undefined = setInterval(() => void run("sweep"), sweepSeconds * 1000);
void run("sweep"); // rows that waited when the last run ended may have lost their messages
const purgeClock = setInterval(() => void run("purge"), 3_600_000);

stopAtSignal(async () => {
  clearInterval(clock);
  clearInterval(purgeClock);
  clock = undefined;
  await gateway.stop();
  await Promise.all([api.stop(), dialer.stop(), ...sources.map((one) => one.stop())]);
  await engines.stop();
});

// The first answer must come from a function that has been loaded.
await fetch(`http://${host}:${port}/healthz`);
console.log(`${settings.readyBlock(`http://${host}:${port}`)}
The stage "prod" has the same at http://${host}:${port}/prod/v1/calls
SQS and S3: ${engines.endpoint}; DynamoDB: ${engines.dynamoEndpoint}, table ${table}`);
