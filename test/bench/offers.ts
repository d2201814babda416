/** Billed quantities of a call on each platform, from the counts of the previous parts. */
import priceTable from "./prices.json" with { type: "json" };
import { numberIn } from "./source.ts";
import type { Account, DeliveryOutcome } from "./told-service.ts";

const { prices } = priceTable;
export type PriceName = keyof typeof prices;

/** A way in which calls arrive or, where results or events are told, an account and what is told. */
export type Shape = "lone" | "batch100" | "batch1000" | `${Account}.${DeliveryOutcome}`;
export const shapes: { shape: Shape; told: string }[] = [
  { shape: "lone", told: "lone" },
  { shape: "batch100", told: "in batches of 100" },
  { shape: "batch1000", told: "in batches of 1,000" },
];

/** Assumed response time of the provider, not measured. */
const providerMs = 500;
/**
 * Assumed duration of a round trip to the ledger, of which a call waits for two beside its delivery's first,
 * and of one to the queue.
 */
const tripMs = 10;
const queueMs = 20;
/**
 * Assumed time on Lambda for the result of one call, as where a callback tells it: a request to the provider's record
 * and three round trips.
 */
const resultMs = providerMs + 3 * tripMs;
/** CPU of a call, if no part has measured it. */
const acceptCpuMsAssumed = 1;
const dialingCpuMsAssumed = 2;
/** Bytes of Lambda's own log lines per invocation, and API Gateway's per request. */
const platformLogBytes = 300;
/**
 * Bytes that Cloudflare adds to each line of a Worker: `$workers` and `$metadata` without the message, as in two
 * published events, of December 2025 and of 2026-08-30. Invocations themselves are not logged.
 */
const lineAttributesBytes = 800;
/** Days that Cloudflare stores them. */
const logDays = 7;
/** Bytes that BullMQ's side logs per call. */
const bullmqLogBytes = 600;
const hoursPerMonth = 730;
const daysPerMonth = hoursPerMonth / 24;

const counts: Partial<Record<string, number>> = JSON.parse(process.env["COUNTS"] || "{}");

export function counted(name: string): number {
  const count = counts[name];
  if (count === undefined) {
    throw new Error(`COUNTS has no ${name}: run the parts before money, which count it`);
  }
  return count;
}

const memoryMb = await numberIn("infra/aws/lambda-function.ts", /memorySize: (\d+)/);
const concurrency = await numberIn("functions/dialer/lambda.ts", /concurrency: (\d+)/);
/** Maximum wait of a write in a large delivery for others to share its round trip. */
const shareMs = await numberIn(
  "functions/dialer/record/change-rows.ts",
  /const shareMsMax = ([\d_]+)/,
);
const sharedFrom = await numberIn(
  "functions/dialer/record/change-rows.ts",
  /const manyCalls = (\d+)/,
);
/** Time on Lambda for one event, at the pace of a receiver whose entry names none. */
const eventMs =
  1000 /
  (await numberIn(
    "shared/dial-plan/receivers.ts",
    /requestsPerSecond: z\._default\(z\.number\(\).*, (\d+)\)/,
  ));
const retentionDays = await numberIn("infra/dial-plan.json", /"retentionDays": (\d+)/);
/** Lambda gives a whole vCPU with 1,769 MB. */
const vcpuShare = memoryMb / 1769;
const acceptCpuMs = counts["accept.cpuMsPerCall"] ?? acceptCpuMsAssumed;
const dialingCpuMs = counts["dialing.cpuMsPerCall"] ?? dialingCpuMsAssumed;
/** Includes the SDK's requests to DynamoDB. */
const dynamoDialingCpuMs = counts["dialing.dynamoCpuMsPerCall"] ?? dialingCpuMsAssumed;

/** Returns a count that only calls with results or events have. */
const countedOr0 = (name: string) => counts[name] ?? 0;

/** A billed quantity, and its amount per call. */
export interface Item {
  name: string;
  /** Undefined: free of charge, listed for information. */
  price: PriceName | undefined;
  perCall: number;
}

export function dollars(price: PriceName, quantity: number): number {
  const { amount, per } = prices[price];
  return (quantity / per) * amount;
}

export function perMillion({ price, perCall }: Item): number {
  return price === undefined ? 0 : dollars(price, perCall * 1_000_000);
}

export const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

function cloudflare(shape: Shape): Item[] {
  const of = (name: string) => counted(`cloudflare.${shape}.${name}`);
  const [results, events] = [resultsOf("cloudflare", shape), eventsOf("cloudflare", shape)];
  return [
    { name: "Requests", price: "cloudflare.requests", perCall: of("requests") },
    {
      name: "Invocations of the dialer",
      price: "cloudflare.requests",
      perCall: of("dialerInvocations"),
    },
    {
      name: "CPU (ms)",
      price: "cloudflare.cpuMs",
      perCall: acceptCpuMs + (1 + results + events) * dialingCpuMs,
    },
    {
      name: "Queue operations",
      price: "cloudflare.queueOperations",
      perCall: of("queueOperations"),
    },
    { name: "D1 queries", price: undefined, perCall: of("d1Queries") },
    { name: "D1 rows read", price: "cloudflare.d1RowsRead", perCall: of("d1RowsRead") },
    { name: "D1 rows written", price: "cloudflare.d1RowsWritten", perCall: of("d1RowsWritten") },
    {
      name: "D1 storage (bytes × months)",
      price: "cloudflare.d1Storage",
      perCall: (of("storedBytes") * retentionDays) / daysPerMonth,
    },
    { name: "R2 writes", price: "cloudflare.r2ClassA", perCall: of("r2Writes") },
    { name: "R2 reads", price: "cloudflare.r2ClassB", perCall: of("r2Reads") },
    { name: "Provider requests", price: undefined, perCall: of("providerRequests") },
    {
      name: "Log bytes",
      price: "cloudflare.logBytes",
      perCall: loggedBytes(`cloudflare.${shape}`),
    },
    {
      name: "Log storage (bytes × months)",
      price: "cloudflare.logStorage",
      perCall: loggedBytes(`cloudflare.${shape}`) * (logDays / daysPerMonth),
    },
  ];
}

/** Returns the bytes of the lines that something logs on Cloudflare. */
const loggedBytes = (name: string) =>
  counted(`${name}.logBytes`) + counted(`${name}.logLines`) * lineAttributesBytes;

/** Results, and events told, of one call of a shape. */
const resultsOf = (platform: string, shape: Shape) => countedOr0(`${platform}.${shape}.results`);
const eventsOf = (platform: string, shape: Shape) => countedOr0(`${platform}.${shape}.events`);

/** Returns the GB-seconds of one delivery, whose calls are dialed concurrently up to the limit. */
function deliveryGbSeconds(calls: number): number {
  const writeMs = tripMs + (calls < sharedFrom ? 0 : shareMs);
  const waitMs = tripMs + Math.ceil(calls / concurrency) * (providerMs + 2 * writeMs);
  return (memoryMb / 1024) * ((waitMs + (calls * dynamoDialingCpuMs) / vcpuShare) / 1000);
}

function aws(shape: Shape): Item[] {
  const of = (name: string) => counted(`aws.${shape}.${name}`);
  const requests = of("requests");
  const invocations = of("dialerInvocations");
  const deliveries = invocations - countedOr0(`aws.${shape}.eventInvocations`);
  const toldMs = resultsOf("aws", shape) * resultMs + eventsOf("aws", shape) * eventMs;
  const apiMs = requests * queueMs + acceptCpuMs / vcpuShare;
  const logBytes = of("logBytes") + (requests * 2 + invocations) * platformLogBytes;
  return [
    { name: "API Gateway requests", price: "aws.httpApiRequests", perCall: requests },
    { name: "Lambda requests", price: "aws.lambdaRequests", perCall: requests + invocations },
    {
      name: "Lambda GB-seconds, API",
      price: "aws.lambdaGbSecondsArm64",
      perCall: (memoryMb / 1024) * (apiMs / 1000),
    },
    {
      name: "Lambda GB-seconds, dialer",
      price: "aws.lambdaGbSecondsArm64",
      perCall: deliveries * deliveryGbSeconds(1 / deliveries) + (memoryMb / 1024) * (toldMs / 1000),
    },
    { name: "SQS requests", price: "aws.sqsRequests", perCall: of("sqsRequests") },
    {
      name: "DynamoDB write units",
      price: "aws.dynamoWriteUnits",
      perCall: of("dynamoWriteUnits"),
    },
    { name: "DynamoDB read units", price: "aws.dynamoReadUnits", perCall: of("dynamoReadUnits") },
    {
      name: "DynamoDB storage (bytes × months)",
      price: "aws.dynamoStorage",
      perCall: (of("storedBytes") * retentionDays) / daysPerMonth,
    },
    {
      name: "DynamoDB backup (bytes × months)",
      price: "aws.dynamoBackup",
      perCall: (of("storedTableBytes") * retentionDays) / daysPerMonth,
    },
    { name: "S3 PUTs", price: "aws.s3Puts", perCall: of("s3Puts") },
    { name: "S3 GETs", price: "aws.s3Gets", perCall: of("s3Gets") },
    { name: "Log bytes", price: "aws.logBytes", perCall: logBytes },
  ];
}

/**
 * Each request is assumed to open a connection: a capacity unit of the load balancer takes 25 new connections
 * a second.
 */
function bullmq(shape: Shape): Item[] {
  const requests = counted(`aws.${shape}.requests`);
  return [
    {
      name: "Load balancer's capacity (hours)",
      price: "aws.loadBalancerUnitHours",
      perCall: requests / (25 * 3600),
    },
    { name: "Log bytes", price: "aws.logBytes", perCall: bullmqLogBytes },
  ];
}

const sweepsByMonth = 60 * hoursPerMonth;
/** Duration on Lambda of a sweep, an upkeep or a dispatcher that finds nothing to do. */
const sweepMs = 200;
/** A sweep, an upkeep and a dispatcher. */
const functionsByMinute = 3;
/**
 * Monthly items of infra/aws/stack.ts; its four queues, polled by five pollers every 20 s, of which none rests where a
 * mapping has a maximum concurrency; and a sweep, an upkeep and a dispatcher a minute that find nothing to do.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
 */
const awsByMonth: [PriceName, number][] = [
  ["aws.secrets", 2],
  ["aws.alarms", 33],
  ["aws.customMetrics", 6],
  ["aws.dashboards", 1],
  ["aws.sqsRequests", 4 * 5 * 3 * 60 * hoursPerMonth],
  ["aws.lambdaRequests", functionsByMinute * sweepsByMonth],
  [
    "aws.lambdaGbSecondsArm64",
    (functionsByMinute * sweepsByMonth * memoryMb * sweepMs) / 1024 / 1000,
  ],
  ["aws.dynamoWriteUnits", sweepsByMonth * counted("aws.idleMinute.dynamoWriteUnits")],
  ["aws.dynamoReadUnits", sweepsByMonth * counted("aws.idleMinute.dynamoReadUnits")],
  ["aws.logBytes", sweepsByMonth * (counted("aws.idleMinute.logBytes") + platformLogBytes)],
];
/** The plan, and a sweep, an upkeep and a dispatcher a minute. */
const cloudflareByMonth: [PriceName, number][] = [
  ["cloudflare.plan", 1],
  ["cloudflare.requests", functionsByMinute * sweepsByMonth],
  ["cloudflare.d1RowsWritten", sweepsByMonth * counted("cloudflare.idleMinute.d1RowsWritten")],
  ["cloudflare.d1RowsRead", sweepsByMonth * counted("cloudflare.idleMinute.d1RowsRead")],
  ["cloudflare.logBytes", sweepsByMonth * loggedBytes("cloudflare.idleMinute")],
  [
    "cloudflare.logStorage",
    sweepsByMonth * loggedBytes("cloudflare.idleMinute") * (logDays / daysPerMonth),
  ],
];

const containers = 2;
const containerVcpu = 0.25;
const containerGb = 0.5;
/**
 * The containers, a load balancer in two zones, a Valkey and its replica, and a public address for each part
 * on the internet.
 */
const bullmqByMonth: [PriceName, number][] = [
  ["aws.fargateVcpuHoursArm64", containers * containerVcpu * hoursPerMonth],
  ["aws.fargateGbHoursArm64", containers * containerGb * hoursPerMonth],
  ["aws.loadBalancerHours", hoursPerMonth],
  ["aws.valkeySmallHours", 2 * hoursPerMonth],
  ["aws.publicIpv4Hours", (containers + 2) * hoursPerMonth],
];

export interface Offer {
  name: string;
  /** Dollars per month. */
  fixed: number;
  items(shape: Shape): Item[];
}

const monthly = (what: [PriceName, number][]) =>
  sum(what.map(([price, quantity]) => dollars(price, quantity)));
export const ours: { cloudflare: Offer; aws: Offer } = {
  cloudflare: { name: "Cloudflare", fixed: monthly(cloudflareByMonth), items: cloudflare },
  aws: { name: "AWS", fixed: monthly(awsByMonth), items: aws },
};
export const theirs: Offer = { name: "BullMQ", fixed: monthly(bullmqByMonth), items: bullmq };

export const bullmqTold = `**BullMQ** is ${containers} Fargate containers (one API, one worker; ${containerVcpu} vCPU and ${containerGb} GB each, arm64), an Application Load Balancer in two zones, a cache.t4g.small with Valkey and one replica, and public addresses. Its price is taken as fixed at every volume; 100 million calls a month are 38 a second on average and several times that in calling hours, more than containers of this size may carry. It has no second container that takes over, and a replica that may lack the last writes.`;

export const inDollars = (amount: number) =>
  amount > 0 && amount < 0.005
    ? "≤ $0.01"
    : `$${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
export const inCount = (count: number) =>
  count.toLocaleString("en", { maximumSignificantDigits: 3, useGrouping: count >= 1000 });

const cpuFrom = (name: string) =>
  counts[`${name}.cpuMsPerCall`] === undefined ? "assumed" : "measured";

export const assumptions = [
  "Assumed:",
  `a provider answers in ${providerMs} ms; a round trip to the ledger takes ${tripMs} ms, a claim or a settlement waits ${shareMs} ms more in a delivery of ${sharedFrom} calls or more, a request waits ${queueMs} ms for the queue; an idle sweep or dispatcher takes ${sweepMs} ms;`,
  `CPU of a call ${inCount(acceptCpuMs)} ms to accept (${cpuFrom("accept")}; in a batch it is less) and ${inCount(dialingCpuMs)} ms to dial (${cpuFrom("dialing")}), ${inCount(dynamoDialingCpuMs)} ms with DynamoDB's SDK;`,
  `Lambda has ${memoryMb} MB, ${concurrency} requests at once and ${vcpuShare.toFixed(2)} of a vCPU;`,
  `${platformLogBytes} B of log more for each invocation and request on AWS, ${lineAttributesBytes} B for each line on Cloudflare;`,
  `a result takes ${resultMs} ms of Lambda and an event ${eventMs} ms, and each the CPU of dialing;`,
  `rows are kept for ${retentionDays} days, as large as they were counted here, with their indexes.`,
].join(" ");
