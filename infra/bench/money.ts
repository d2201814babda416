/**
 * What a million calls cost at list prices (prices.json), from what the parts before this one have counted of a call;
 * beside BullMQ on containers, which cost the same whatever they do.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import priceTable from "./prices.json" with { type: "json" };
import { report, table } from "./report.ts";

const { prices } = priceTable;
type PriceName = keyof typeof prices;

type Shape = "single" | "batch1000";
const shapes: { shape: Shape; told: string }[] = [
  { shape: "single", told: "singly" },
  { shape: "batch1000", told: "in batches of 1,000" },
];

/** Assumed, not counted. */
const providerMs = 500;
/** What a delivery waits for the ledger beside it, and a request for the queue. */
const ledgerMs = 60;
const queueMs = 20;
/** CPU of a call, where no part has measured it. */
const acceptCpuMsAssumed = 1;
const dialingCpuMsAssumed = 2;
const logLinesPerCall = 2;
const logLineBytes = 300;
/** Lambda's own lines of an invocation, and API Gateway's of a request. */
const platformLogBytes = 300;
/** A placed call's row, with its indexes; DynamoDB's `byState` holds it once more. */
const d1RowBytes = 1_000;
const dynamoRowBytes = 2_500;
const dynamoBackedUpBytes = 1_100;
const hoursPerMonth = 730;
const daysPerMonth = hoursPerMonth / 24;

const counts: Partial<Record<string, number>> = JSON.parse(process.env["COUNTS"] || "{}");

function counted(name: string): number {
  const count = counts[name];
  if (count === undefined) {
    throw new Error(
      `COUNTS has no ${name}: run the parts before money, which count it, in the same run`,
    );
  }
  return count;
}

/** The number that the pattern's group finds in a source file, so that this follows a change there. */
async function numberIn(path: string, pattern: RegExp): Promise<number> {
  const [, found] =
    pattern.exec(await readFile(join(import.meta.dirname, "../..", path), "utf8")) ?? [];
  if (found === undefined) throw new Error(`${path} has nothing like ${pattern.source}`);
  return Number(found);
}

const memoryMb = await numberIn("infra/aws/stack.ts", /memorySize: (\d+)/);
const lanes = await numberIn("functions/dialer/lambda.ts", /lanes: (\d+)/);
const retentionDays = await numberIn("infra/dial-plan.json", /"retentionDays": (\d+)/);
/** Lambda gives a whole vCPU with 1,769 MB. */
const vcpuShare = memoryMb / 1769;
const acceptCpuMs = counts["accept.cpuMsPerCall"] ?? acceptCpuMsAssumed;
const dialingCpuMs = counts["dialing.cpuMsPerCall"] ?? dialingCpuMsAssumed;

/** Something that is paid for, and how much of it a call takes. */
interface Item {
  name: string;
  /** Undefined: free of charge, told for the picture. */
  price: PriceName | undefined;
  perCall: number;
}

function dollars(price: PriceName, quantity: number): number {
  const { amount, per } = prices[price];
  return (quantity / per) * amount;
}

function perMillion({ price, perCall }: Item): number {
  return price === undefined ? 0 : dollars(price, perCall * 1_000_000);
}

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0);

function cloudflare(shape: Shape): Item[] {
  const of = (name: string) => counted(`cloudflare.${shape}.${name}`);
  const invocations = of("requests") + of("dialerInvocations");
  return [
    { name: "Requests", price: "cloudflare.requests", perCall: of("requests") },
    {
      name: "Invocations of the dialer",
      price: "cloudflare.requests",
      perCall: of("dialerInvocations"),
    },
    { name: "CPU (ms)", price: "cloudflare.cpuMs", perCall: acceptCpuMs + dialingCpuMs },
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
      perCall: (d1RowBytes * retentionDays) / daysPerMonth,
    },
    { name: "R2 writes", price: "cloudflare.r2ClassA", perCall: of("r2Writes") },
    { name: "R2 reads", price: "cloudflare.r2ClassB", perCall: of("r2Reads") },
    { name: "Provider requests", price: undefined, perCall: of("providerRequests") },
    { name: "Log events", price: "cloudflare.logEvents", perCall: logLinesPerCall + invocations },
  ];
}

/** GB-seconds of one delivery: its calls are dialed side by side, as far as the lanes go. */
function deliveryGbSeconds(calls: number): number {
  const waitMs = Math.ceil(calls / lanes) * (providerMs + ledgerMs);
  return (memoryMb / 1024) * ((waitMs + (calls * dialingCpuMs) / vcpuShare) / 1000);
}

function aws(shape: Shape): Item[] {
  const of = (name: string) => counted(`aws.${shape}.${name}`);
  const requests = of("requests");
  const invocations = of("dialerInvocations");
  const apiMs = requests * queueMs + acceptCpuMs / vcpuShare;
  const logBytes = logLinesPerCall * logLineBytes + (requests * 2 + invocations) * platformLogBytes;
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
      perCall: invocations * deliveryGbSeconds(1 / invocations),
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
      perCall: (dynamoRowBytes * retentionDays) / daysPerMonth,
    },
    {
      name: "DynamoDB backup (bytes × months)",
      price: "aws.dynamoBackup",
      perCall: (dynamoBackedUpBytes * retentionDays) / daysPerMonth,
    },
    { name: "S3 PUTs", price: "aws.s3Puts", perCall: of("s3Puts") },
    { name: "S3 GETs", price: "aws.s3Gets", perCall: of("s3Gets") },
    { name: "Log bytes", price: "aws.logBytes", perCall: logBytes },
  ];
}

/** A capacity unit of the load balancer takes 25 new connections a second; here each request is one. */
function bullmq(shape: Shape): Item[] {
  const requests = counted(`aws.${shape}.requests`);
  return [
    {
      name: "Load balancer's capacity (hours)",
      price: "aws.loadBalancerUnitHours",
      perCall: requests / (25 * 3600),
    },
    { name: "Log bytes", price: "aws.logBytes", perCall: logLinesPerCall * logLineBytes },
  ];
}

/** What stands in infra/aws/stack.ts and costs by the month; and the two queues, asked by five pollers every 20 s. */
const awsByMonth: [PriceName, number][] = [
  ["aws.secrets", 2],
  ["aws.alarms", 9],
  ["aws.customMetrics", 7],
  ["aws.dashboards", 1],
  ["aws.sqsRequests", 2 * 5 * 3 * 60 * hoursPerMonth],
];

const containers = 2;
const containerVcpu = 0.25;
const containerGb = 0.5;
/** The containers, a load balancer in two zones, a Valkey and its replica; an address each for what is on the internet. */
const bullmqByMonth: [PriceName, number][] = [
  ["aws.fargateVcpuHoursArm64", containers * containerVcpu * hoursPerMonth],
  ["aws.fargateGbHoursArm64", containers * containerGb * hoursPerMonth],
  ["aws.loadBalancerHours", hoursPerMonth],
  ["aws.valkeySmallHours", 2 * hoursPerMonth],
  ["aws.publicIpv4Hours", (containers + 2) * hoursPerMonth],
];

interface Offer {
  name: string;
  /** Dollars a month. */
  fixed: number;
  items(shape: Shape): Item[];
}

const monthly = (what: [PriceName, number][]) =>
  sum(what.map(([price, quantity]) => dollars(price, quantity)));
const ours: Offer[] = [
  { name: "Cloudflare", fixed: dollars("cloudflare.plan", 1), items: cloudflare },
  { name: "AWS", fixed: monthly(awsByMonth), items: aws },
];
const theirs: Offer = { name: "BullMQ", fixed: monthly(bullmqByMonth), items: bullmq };

const inDollars = (amount: number) =>
  amount > 0 && amount < 0.005
    ? "≤ $0.01"
    : `$${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
const inCount = (count: number) =>
  count.toLocaleString("en", { maximumSignificantDigits: 3, useGrouping: count >= 1000 });

const sizes: Partial<Record<number, string>> = {
  1_000: "1,000 ",
  1_000_000: "million ",
  1_000_000_000: "billion ",
};

function listPrice(price: PriceName | undefined): string {
  if (price === undefined) return "free";
  const { amount, per, unit } = prices[price];
  return `$${amount} per ${sizes[per] ?? ""}${unit}`;
}

function itemised(items: Offer["items"]): string {
  const [single, batch] = [items("single"), items("batch1000")];
  const rows = single.map((item, index) => {
    const both = [item, batch[index] ?? item];
    const cells = both.flatMap((one) => [inCount(one.perCall), inDollars(perMillion(one))]);
    return [item.name, listPrice(item.price), ...cells];
  });
  const totals = [single, batch].flatMap((all) => ["", inDollars(sum(all.map(perMillion)))]);
  const columns = shapes.flatMap(({ told }) => [`a call, ${told}`, "$ per million"]);
  return table(["", "list price", ...columns], [...rows, ["**All**", "", ...totals]]);
}

const volumes = [100_000, 1_000_000, 10_000_000, 100_000_000];

/** Dollars per million calls, what is paid by the month aside. */
const variable = (offer: Offer, shape: Shape) => sum(offer.items(shape).map(perMillion));

/** Calls a month from which on ours costs more than theirs. */
function breakEven(offer: Offer, shape: Shape): string {
  if (offer === theirs) return "";
  const difference = variable(offer, shape) - variable(theirs, shape);
  if (difference <= 0) return "never";
  return `${inCount(Math.max(0, (theirs.fixed - offer.fixed) / difference))} million`;
}

const byVolume = table(
  ["", "a month", ...volumes.map((volume) => `at ${volume / 1_000_000} million`), "dearer from"],
  [...ours, theirs].flatMap((offer) =>
    shapes.map(({ shape, told }) => [
      `${offer.name}, ${told}`,
      inDollars(offer.fixed),
      ...volumes.map((volume) =>
        inDollars(variable(offer, shape) + (offer.fixed / volume) * 1_000_000),
      ),
      breakEven(offer, shape),
    ]),
  ),
);

const unconfirmed = Object.entries(prices).flatMap(([name, { confirmed }]) =>
  confirmed ? [] : [name],
);
const alone = dollars("aws.lambdaGbSecondsArm64", deliveryGbSeconds(1) * 1_000_000);
const logsByEvent = dollars("cloudflare.logEvents", logLinesPerCall * 1_000_000);
const logsByByte = dollars("cloudflare.logBytes", logLinesPerCall * logLineBytes * 1_000_000);
const cpuFrom = (name: string) =>
  counts[`${name}.cpuMsPerCall`] === undefined ? "assumed" : "measured";

report({
  title: "Money",
  text: [
    `Dollars per million calls at the list prices of ${priceTable.date} (AWS in ${priceTable.region}), free allowances left out. Computed from what a call does in this run, each dialed at once and placed: no bill was looked at. "Dearer from" is the volume a month above which ours costs more than BullMQ.`,
    byVolume,
    `**BullMQ** is ${containers} Fargate containers (one API, one worker; ${containerVcpu} vCPU and ${containerGb} GB each, arm64), an Application Load Balancer in two zones, a cache.t4g.small with Valkey and one replica, and public addresses. Its price is taken as fixed at every volume; 100 million calls a month are 38 a second on average and several times that in calling hours, more than containers of this size may carry. It has no second container that takes over, and a replica that may lack the last writes.`,
    "### Cloudflare",
    itemised(cloudflare),
    `Invocations of the dialer are counted as requests, though Cloudflare's page names only inbound ones. From 1 December 2026 logs are paid by the byte: two lines a call then cost ${inDollars(logsByByte)} per million, not ${inDollars(logsByEvent)}.`,
    "### AWS",
    itemised(aws),
    `Deliveries are as full as in this run. With one call alone in each, as at small volumes, the dialer's time on Lambda costs ${inDollars(alone)} per million, and what the ledger is asked once a delivery comes with every call, on both platforms. By the month: 2 secrets, 9 alarms, 7 metrics, a dashboard, and the polling of two idle queues.`,
    [
      "Assumed:",
      `a provider answers in ${providerMs} ms; a delivery waits ${ledgerMs} ms for the ledger, a request ${queueMs} ms for the queue;`,
      `CPU of a call ${inCount(acceptCpuMs)} ms to accept (${cpuFrom("accept")}; in a batch it is less) and ${inCount(dialingCpuMs)} ms to dial (${cpuFrom("dialing")});`,
      `Lambda has ${memoryMb} MB, ${lanes} lanes and ${vcpuShare.toFixed(2)} of a vCPU;`,
      `${logLinesPerCall} log lines of ${logLineBytes} B a call, ${platformLogBytes} B more for each invocation and request on AWS;`,
      `a row of ${d1RowBytes.toLocaleString("en")} B in D1 and of ${dynamoRowBytes.toLocaleString("en")} B in DynamoDB with its indexes, for ${retentionDays} days.`,
      "Left out: what the sweeps of a month cost (cents), objects of batches (less than a cent), traffic to the internet (the same for BullMQ; Cloudflare charges none), taxes, support, a person's time.",
      `Prices that could not be confirmed: ${unconfirmed.join(", ") || "none"}.`,
    ].join(" "),
  ].join("\n\n"),
  targets: [],
});
