/**
 * `npm run start:aws`: the AWS shape on this machine, without an account. The built Lambda bundles run in
 * separate processes behind a Runtime API, with an API Gateway in front, event sources that poll, and the
 * schedule of the sweep. SQS, S3 and DynamoDB servers speak the real protocols and keep their state on disk.
 */
import { join } from "node:path";
import { inspect } from "node:util";
import { dialerTimeoutSeconds, dispatcherTimeoutSeconds } from "../aws/limits.ts";
import { startApiGateway } from "./api-gateway.ts";
import { localRegion, startAwsEngines } from "./aws-engines.ts";
import { bundleFunctions } from "./bundles.ts";
import { endChildrenWithProcess } from "./end-children.ts";
import { startEventSource } from "./event-source.ts";
import { startInvokeEndpoint } from "./invoke-endpoint.ts";
import { startFunction } from "./lambda-runtime.ts";
import { host, readLocalSettings, stopAtSignal, sweepSeconds } from "./settings.ts";
import { traceQueues } from "./traced-queues.ts";
import { printHelp } from "../cli/help.ts";
import { complain, print } from "../cli/print.ts";

printHelp(`npm run start:aws

Runs the AWS shape on this machine: the Lambda bundles behind a local API Gateway, with SQS, S3 and DynamoDB servers. Needs
no account; nobody is phoned, unless the variables name another dial plan. Ends at Ctrl-C. docs/quickstart.md

Environment: PORT (3000), STATE_DIR, VISIBILITY_SECONDS (20), and that of npm start.`);

const queueName = "outbound-calls";
const deadQueueName = "outbound-calls-dead";
const eventsQueueName = "outbound-calls-events";
const deadEventsQueueName = "outbound-calls-events-dead";
const bucket = "outbound-calls";
const table = "outbound-calls";
const dispatcherFunction = "outbound-calls-dispatcher";
/** Maximum concurrent deliveries of the call queue. */
const deliveriesAtOnce = 2;
/** The same of the events queue. */
const eventsDeliveriesAtOnce = 2;
/** Interval at which a dispatcher is started; it ends at once if another one beats. On AWS it is a minute. */
const dispatchSeconds = 5;
/** Short, so that messages held by a killed dialer are redelivered soon. On AWS it is six times the dialer's timeout. */
const visibilitySeconds = Number(process.env["VISIBILITY_SECONDS"] ?? 20);

const settings = await readLocalSettings({ port: 3000, stateDirectory: ".state/aws" });
const { port, stateDirectory } = settings;
const bundles = join(stateDirectory, "build");
const [engines] = await Promise.all([
  startAwsEngines(join(stateDirectory, "engines")),
  bundleFunctions(bundles),
]);
await Promise.all([engines.createTable(table), engines.createBucket(bucket)]);
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

endChildrenWithProcess();
const traced = await traceQueues(engines.endpoint);
const tracedUrl = (url: string) => url.replace(engines.endpoint, traced.endpoint);
const invokeEndpoint = await startInvokeEndpoint();
const environment = {
  ...settings.environment,
  ...engines.variables,
  AWS_ENDPOINT_URL_SQS: traced.endpoint,
  QUEUE_URL: tracedUrl(queueUrl),
  EVENTS_QUEUE_URL: tracedUrl(eventsQueueUrl),
  BUCKET: bucket,
  TABLE: table,
  CONSUMERS: String(deliveriesAtOnce),
  DISPATCHER_FUNCTION: dispatcherFunction,
  AWS_ENDPOINT_URL_LAMBDA: invokeEndpoint.url,
};
interface LocalFunction {
  instances: number;
  timeoutSeconds: number;
  /** Absent: the bundle of its own name. */
  bundle?: string;
}
const start = (name: string, { bundle = name, ...limits }: LocalFunction) =>
  startFunction({
    name,
    bundle: join(bundles, bundle, "index.mjs"),
    bootstrap: join(bundles, "bootstrap/index.mjs"),
    environment,
    ...limits,
  });
const api = start("api", { instances: 2, timeoutSeconds: 30 });
// One more instance serves the schedule: a sweep waits behind no delivery.
const instances = deliveriesAtOnce + eventsDeliveriesAtOnce + 1;
const dialer = start("dialer", { instances, timeoutSeconds: dialerTimeoutSeconds });
// One runs, and another one may be woken or take over.
const dispatcher = start("dispatcher", {
  bundle: "dialer",
  instances: 2,
  timeoutSeconds: dispatcherTimeoutSeconds,
});
invokeEndpoint.add(dispatcherFunction, dispatcher);
const sources = (
  [
    [dialer, queueName, queueUrl, 1, deliveriesAtOnce],
    [api, deadQueueName, deadQueueUrl, 1, 1],
    [dialer, eventsQueueName, eventsQueueUrl, 10, eventsDeliveriesAtOnce],
    [api, deadEventsQueueName, deadEventsQueueUrl, 10, 1],
  ] as const
).map(([consumer, name, url, batchSize, concurrency]) =>
  startEventSource({
    consumer,
    queueUrl: url,
    queueName: name,
    batchSize,
    concurrency,
  }),
);
const run = (scheduled: "sweep" | "upkeep") =>
  dialer.invoke({ scheduled }).catch((error: unknown) => {
    if (clock !== undefined) complain(`The ${scheduled}'s clock failed: ${inspect(error)}`);
  });
/** Starts a dispatcher, unless as many run as there are processes for them. */
let dispatchersUnderWay = 0;
async function runDispatcher(): Promise<void> {
  if (dispatchersUnderWay >= 2) return;
  dispatchersUnderWay += 1;
  await dispatcher.invoke({ scheduled: "dispatch" }).catch(() => undefined); // its process has died: the next one follows
  dispatchersUnderWay -= 1;
}
let clock: NodeJS.Timeout | undefined = setInterval(() => void run("sweep"), sweepSeconds * 1000);
void run("sweep");
const dispatchClock = setInterval(() => void runDispatcher(), dispatchSeconds * 1000);
void runDispatcher();
// Between two sweeps, as one process then serves both: each that starts takes 0.4 s of CPU.
let upkeepClock: NodeJS.Timeout = setTimeout(() => {
  upkeepClock = setInterval(() => void run("upkeep"), sweepSeconds * 1000);
  void run("upkeep");
}, sweepSeconds * 500);

let gateway: { stop(): Promise<void> } | undefined;
stopAtSignal(async () => {
  clearInterval(clock);
  clearInterval(upkeepClock);
  clearInterval(dispatchClock);
  clock = undefined;
  await gateway?.stop();
  invokeEndpoint.stop();
  traced.stop();
  await Promise.all([
    api.stop(),
    dialer.stop(),
    dispatcher.stop(),
    ...sources.map((one) => one.stop()),
  ]);
  await engines.stop();
});

gateway = await startApiGateway(port, api);
print(`${settings.readyBlock(`http://${host}:${port}`)}
The stage "prod" has the same at http://${host}:${port}/prod/v1/calls
SQS and S3: ${engines.endpoint}; DynamoDB: ${engines.dynamoEndpoint}, table ${table}`);
