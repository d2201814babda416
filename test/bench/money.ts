/**
 * Computes the cost of a million calls at list prices (prices.json) from the counts of the previous parts,
 * beside BullMQ on containers, which cost the same whatever they do.
 */
import priceTable from "./prices.json" with { type: "json" };
import {
  assumptions,
  bullmqTold,
  inCount,
  inDollars,
  type Offer,
  ours,
  perMillion,
  type PriceName,
  type Shape,
  shapes,
  sum,
  theirs,
} from "./offers.ts";
import { report, table, type Target } from "./report.ts";
import { type Account, accountNames, type DeliveryOutcome } from "./told-service.ts";

const { prices } = priceTable;

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
  const all = shapes.map(({ shape }) => items(shape));
  const rows = (all[0] ?? []).map((item, index) => {
    const alike = all.map((one) => one[index] ?? item);
    const cells = alike.flatMap((one) => [inCount(one.perCall), inDollars(perMillion(one))]);
    return [item.name, listPrice(item.price), ...cells];
  });
  const totals = all.flatMap((one) => ["", inDollars(sum(one.map(perMillion)))]);
  const columns = shapes.flatMap(({ told }) => [`a call, ${told}`, "$ per million"]);
  return table(["", "list price", ...columns], [...rows, ["**All**", "", ...totals]]);
}

const volumes = [100_000, 1_000_000, 10_000_000, 100_000_000];

/** Dollars per million calls, without monthly fixed costs. */
const variable = (offer: Offer, shape: Shape) => sum(offer.items(shape).map(perMillion));

/** Calls per month from which on ours costs more than theirs. */
function breakEven(offer: Offer, shape: Shape): string {
  if (offer === theirs) return "";
  const difference = variable(offer, shape) - variable(theirs, shape);
  if (difference <= 0) return "never";
  return `${inCount(Math.max(0, (theirs.fixed - offer.fixed) / difference))} million`;
}

const byVolume = table(
  ["", "a month", ...volumes.map((volume) => `at ${volume / 1_000_000} million`), "dearer from"],
  [ours.cloudflare, ours.aws, theirs].flatMap((offer) =>
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

/** Goals, in dollars per million calls without monthly fixed costs. */
const goals = { cloudflare: { nothing: 10, event: 14 }, aws: { nothing: 10, event: 20 } } as const;
const platforms = ["cloudflare", "aws"] as const;
const withEvent = "results and an event";

function dollarsFor(
  platform: (typeof platforms)[number],
  account: Account,
  told: DeliveryOutcome,
): number {
  return variable(ours[platform], `${account}.${told}`);
}

const withResults = table(
  ["", "neither", "results", withEvent],
  platforms.flatMap((platform) =>
    accountNames.map(([account, name]) => [
      `${ours[platform].name}; ${name}`,
      ...(["nothing", "results", withEvent] as const).map((told) =>
        inDollars(dollarsFor(platform, account, told)),
      ),
    ]),
  ),
);

const targets = platforms.flatMap((platform): Target[] => {
  const { name } = ours[platform];
  const { nothing, event } = goals[platform];
  const goal = (what: string, most: number, amount: number): Target => ({
    what: `a million calls in batches, ${what}, ${name}`,
    target: `≤ $${most}`,
    measured: inDollars(amount),
    met: amount <= most,
  });
  const dearest = Math.max(
    ...accountNames.map(([account]) => dollarsFor(platform, account, withEvent)),
  );
  return [
    goal("dialed at once, without results", nothing, dollarsFor(platform, "unpaced", "nothing")),
    goal("with results and one event, the dearest account", event, dearest),
  ];
});

const unconfirmed = Object.entries(prices).flatMap(([name, { confirmed }]) =>
  confirmed ? [] : [name],
);

report({
  title: "Money",
  text: [
    `Dollars per million calls at the list prices of ${priceTable.date} (AWS in ${priceTable.region}), free allowances left out. Computed from what a call does in this run, each dialed at once and placed: no bill was looked at. "Dearer from" is the volume a month above which ours costs more than BullMQ.`,
    byVolume,
    bullmqTold,
    "### With results and events",
    "Without the monthly costs; a call of a batch of 300, or of 25 where it goes at once with a pace:",
    withResults,
    "### Cloudflare",
    itemised(ours.cloudflare.items),
    `Invocations of the dialer are counted as requests, though Cloudflare's page names only inbound ones. Logs are paid by the byte, as from 1 December 2026, with the attributes that Cloudflare adds to each line, and stored for a week.`,
    "### AWS",
    itemised(ours.aws.items),
    "A lone call is alone in its request and in its delivery, as at small volumes: what the ledger is asked once a delivery comes with every call. By the month: 2 secrets, 33 metrics of alarms, 6 of the log, a dashboard, the polling of four idle queues, and on both platforms a sweep, an upkeep and a dispatcher a minute that find nothing to do. A dispatcher that hands out runs on: on Lambda it takes half a gigabyte of memory as long as calls wait.",
    `${assumptions} Left out: sweeps and dispatchers that find something to do beyond the batches counted, objects of batches (less than a cent), traffic to the internet (the same for BullMQ; Cloudflare charges none), taxes, support, a person's time. Prices that could not be confirmed: ${unconfirmed.join(", ") || "none"}.`,
  ].join("\n\n"),
  targets,
});
