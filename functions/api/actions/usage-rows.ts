import { clientNamed, realClientOf } from "#shared/calls/ids.ts";
import { csvField } from "#shared/lib/csv.ts";
import { fillLabels, type LabelName } from "#shared/calls/labels.ts";
import * as z from "#shared/lib/zod.ts";
import { dayMs } from "#shared/lib/units.ts";
import type { ProblemError } from "../http/problem.ts";
import { day, type TimeRange } from "../http/time-range.ts";
import type { Usage } from "./read-usage.ts";
import { measures, sumUsage } from "./sum-usage.ts";

/** Maximum days of one answer, and days where `from` is absent. */
const daysMax = 31;
const daysDefault = 7;
/** Maximum rows of an answer. */
const rowsMax = 5000;

/** Parameters that say of which days usage is summed. */
export const usageDays = {
  from: z
    .optional(day)
    .check(z.describe(`First day, in UTC; by default ${daysDefault - 1} days before \`to\``)),
  to: z
    .optional(day)
    .check(z.describe(`Last day, in UTC, at most ${daysMax - 1} days later; by default today`)),
};

const { accepted, placed, seconds, cost } = measures;
export const usageSums = {
  accepted,
  placed: placed.check(z.describe("Calls that a provider accepted; each try by itself")),
  answered: z
    .int()
    .check(
      z.describe("Placed calls whose result is `completed`; zero where results are not polled"),
    ),
  seconds,
  cost,
};
/** Fields of an answer that name its days. */
export const usageRange = {
  from: z.iso.date().check(z.describe("First day, in UTC")),
  to: z.iso.date().check(z.describe("Last day, in UTC")),
  read_from: z.iso
    .datetime()
    .check(z.describe("Later than the first day where there is too much to read")),
};
export const rowsLeftOut = z.int().check(z.describe(`Rows beyond the ${rowsMax} of an answer`));

export type UsageBy = "client" | "day" | "agent" | LabelName;

/** Returns the fields that have a row's labels. `absent`: what null and `*other` mean. */
export function labelFields(absent: string) {
  return fillLabels(z.optional(z.nullable(z.string())).check(z.describe(absent)));
}

/** Names of a row of usage. */
type RowNames = {
  client?: string | undefined;
  day?: string | undefined;
  agent_id?: string | undefined;
  test?: boolean | undefined;
} & { [Name in LabelName]?: string | null | undefined };
/** A type rather than an interface, which would not fit the loose schemas of /v1. */
type UsageRow = RowNames & z.infer<typeof sumsSchema>;
const sumsSchema = z.strictObject(usageSums);

/** Returns the days that are asked for, or the error of them. */
export function daysOf(
  { from, to }: { from?: TimeRange | undefined; to?: TimeRange | undefined },
  now: number,
): TimeRange | ProblemError {
  const today = Math.floor(now / dayMs) * dayMs;
  const end = to?.to ?? today + dayMs;
  const start = from?.from ?? end - daysDefault * dayMs;
  const isRange = start >= 0 && start < end && end - start <= daysMax * dayMs;
  if (isRange) return { from: start, to: end };
  return {
    pointer: "/from",
    detail: `must not be after \`to\`, at most ${daysMax - 1} days before it, and not before 1970`,
  };
}

/** Returns the fields of an answer that name its days. `readFrom`: the first hour that was read. */
export function toRangeView({ from, to }: TimeRange, readFrom: number) {
  const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  return {
    from: dateOf(from),
    to: dateOf(to - dayMs),
    read_from: new Date(readFrom).toISOString(),
  };
}

export function toSums(usage: readonly Usage[]): z.infer<typeof sumsSchema> {
  const sums = sumUsage(usage);
  return {
    accepted: sums.accepted,
    placed: sums.placed,
    answered: sums.results.completed,
    seconds: sums.seconds,
    cost: sums.cost.toSorted((one, other) => (one.currency < other.currency ? -1 : 1)),
  };
}

/**
 * Sums usage by the names of each row: days in order, and other rows with the most accepted calls first.
 *
 * @returns `left_out`: number of rows beyond the maximum
 */
export function toUsageRows(
  usage: readonly Usage[],
  by: UsageBy,
  nameOf: (one: Usage) => RowNames,
): { rows: UsageRow[]; left_out: number } {
  const groups = Map.groupBy(usage, (one) => JSON.stringify(nameOf(one)));
  // Rows of equal counts are in the order of their names.
  const named = [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const all = named.flatMap(([, own]): UsageRow[] =>
    own[0] === undefined ? [] : [{ ...nameOf(own[0]), ...toSums(own) }],
  );
  const sorted = all.toSorted((one, other) =>
    by === "day"
      ? (one.day ?? "").localeCompare(other.day ?? "") || Number(one.test) - Number(other.test)
      : other.accepted - one.accepted || other.placed - one.placed,
  );
  return { rows: sorted.slice(0, rowsMax), left_out: Math.max(0, sorted.length - rowsMax) };
}

/** Names a row of one client's usage. */
export function nameForClient(
  { hour, agentId, labels }: Usage,
  by: Exclude<UsageBy, "client">,
): RowNames {
  if (by === "day") return { day: new Date(hour).toISOString().slice(0, 10) };
  if (by === "agent") return { agent_id: agentId };
  return { [by]: labels[by] ?? null };
}

/** Names a row of all clients' usage. Tests, for which nobody pays, have rows of their own. */
export function nameForOperator(one: Usage, by: UsageBy): RowNames {
  const client = clientNamed(one.client);
  const own = by === "client" ? {} : nameForClient(one, by);
  const ofClient = by === "day" || by === "agent" ? {} : { client: realClientOf(client) };
  return { ...ofClient, ...own, test: client.mode === "test" };
}

/** Returns the columns that name a row. Clients choose labels, so equal ones of two clients are two rows. */
function namesBy(by: UsageBy): (keyof RowNames)[] {
  if (by === "agent") return ["agent_id"];
  return by === "client" || by === "day" ? [by] : ["client", by];
}

/** Formats rows as comma-separated values (RFC 4180), with a column for each currency. */
export function toUsageCsv(rows: readonly UsageRow[], by: UsageBy): string {
  const currencies = [
    ...new Set(rows.flatMap((row) => row.cost.map(({ currency }) => currency))),
  ].toSorted();
  const columns = [...namesBy(by), "test", "accepted", "placed", "answered", "seconds"] as const;
  const head = [...columns, ...currencies.map((currency) => `cost_${currency}`)];
  const lines = rows.map((row) => [
    ...columns.map((column) => row[column]),
    ...currencies.map((one) => row.cost.find(({ currency }) => currency === one)?.amount),
  ]);
  return [head, ...lines].map((line) => `${line.map(csvField).join(",")}\r\n`).join("");
}
