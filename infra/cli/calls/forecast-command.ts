import type {
  Forecast,
  ForecastItem,
  ForecastSummary,
  PlanTexts,
} from "#shared/answers/answers.ts";
import { counted } from "./agree.ts";
import type { Command, CommandDeps } from "./command.ts";
import { Misuse } from "./failures.ts";
import { readJson } from "./files.ts";
import type { Json } from "./json.ts";
import { leadsOf, tableOf } from "./lead-files.ts";
import type { Values } from "./options.ts";
import { show, type Terminal } from "./terminal.ts";

/** The client of the token that a deployment makes first. */
const defaultClient = "first";
const itemColumns = ["index", "outcome", "at", "account", "reason", "errors"];
const accountColumns = ["account", "calls", "first_at", "last_at", "limit", "rule", "waiting"];
const ruleColumns = ["limit", "rule", "calls", "longest"];

export const forecastCommands: Record<string, Command> = {
  async forecast(_rest, values, { ask, terminal }) {
    if (values.file === undefined)
      throw new Misuse("forecast needs --file with a CSV of leads, or a JSON array of calls.");
    const { calls, refused } = await callsOf(values.file, values, { ask, terminal });
    const { at, client = defaultClient, items } = values;
    const plan = values.plan === undefined ? {} : { plan: await readJson(values.plan, terminal) };
    const which = items ?? (values.csv === true ? "all" : "problems");
    const asked = { client, calls, ...(at === undefined ? {} : { at }), ...plan, items: which };
    const answer = await ask<Forecast>("/forecast", asked);
    const { items: listed = [], deployed } = answer;
    if (values.json === true) terminal.print(JSON.stringify(answer));
    else if (values.csv === true) show(listed.map(itemRow), itemColumns, { values, terminal });
    else {
      tell(answer, listed, terminal);
      if (deployed !== undefined) compare(answer, deployed, terminal);
    }
    return answer.counts.refused > 0 || refused > 0 ? 2 : 0;
  },
};

/** Reads calls as they are posted, or a list of leads like that of `send`. `refused`: rows that cannot be read. */
async function callsOf(
  path: string,
  values: Values,
  { ask, terminal }: Pick<CommandDeps, "ask" | "terminal">,
): Promise<{ calls: unknown; refused: number }> {
  if (!/\.(csv|tsv|txt)$/i.test(path)) {
    return { calls: await readJson(path, terminal), refused: 0 };
  }
  const table = await tableOf(path, terminal);
  const plan = await ask<PlanTexts>("/plan");
  const isForPeople = values.json !== true && values.csv !== true;
  const say = isForPeople ? terminal.print : terminal.complain;
  const { leads, refused } = await leadsOf({ path, table, plan }, values, say);
  for (const { line, reason } of refused) say(`Line ${line} ${reason}`);
  return { calls: leads.map(({ call }) => call), refused: refused.length };
}

/** Prints a forecast for people. */
function tell(answer: Forecast, items: readonly ForecastItem[], terminal: Terminal): void {
  const { print } = terminal;
  const { counts, first_at, last_at, unread, later_tries: later = 0, many_zones: many } = answer;
  print(`${counted(answer.calls, "call")} posted at ${answer.at}: ${countsLine(counts)}.`);
  if (first_at !== null) print(`The first is dialed at ${first_at}, the last at ${last_at}.`);
  if (later > 0) print(`Up to ${later} later tries by the agents' retry are not included.`);
  if (many !== undefined) {
    print(
      `${counted(many.calls, "call")} may ring in up to ${many.zones} time zones at once, so hours must be open in all of them: send timezone.`,
    );
  }
  if (unread > 0) {
    print(
      `${unread} calls, the first at index ${answer.unread_from}, are forecast without the caps and the do-not-call list of their numbers.`,
    );
  }
  const table = (rows: Json[], columns: string[]) => {
    if (rows.length > 0) show(rows, columns, { values: {}, terminal });
  };
  table(answer.accounts.map(accountRow), accountColumns);
  table(answer.rules.map(ruleRow), ruleColumns);
  table(answer.reasons, ["outcome", "calls", "reason"]);
  table(items.map(itemRow), itemColumns);
}

/** Prints what another plan changes. */
function compare(planned: ForecastSummary, deployed: ForecastSummary, terminal: Terminal): void {
  const row = (
    plan: string,
    { counts, first_at, last_at }: ForecastSummary,
    rows: string | null,
  ) => ({
    plan,
    ...counts,
    first_at,
    last_at,
    waiting_until: rows,
  });
  const rows = [row("deployed", deployed, lastOf(deployed)), row("sent", planned, lastOf(planned))];
  show(rows, Object.keys(rows[0] ?? {}), { values: {}, terminal });
}

/** Returns when the last of the calls that wait today is dialed. */
function lastOf({ accounts }: ForecastSummary): string | null {
  return (
    accounts
      .flatMap(({ waiting }) => waiting.last_at ?? [])
      .toSorted()
      .at(-1) ?? null
  );
}

function countsLine(counts: ForecastSummary["counts"]): string {
  const texts = Object.entries(counts).filter(([, count]) => count > 0);
  return texts.map(([outcome, count]) => `${count} ${outcome.replace("_", " ")}`).join(", ");
}

function accountRow({ waiting, ...account }: ForecastSummary["accounts"][number]): Json {
  const { calls, last_at, is_whole } = waiting;
  const until = last_at === null ? "" : `, until ${last_at}`;
  return { ...account, waiting: `${calls}${is_whole ? "" : " or more"}${until}` };
}

function ruleRow({ seconds_max, ...rule }: ForecastSummary["rules"][number]): Json {
  return { ...rule, longest: `${(seconds_max / 3600).toFixed(2)} h` };
}

function itemRow({ errors, ...item }: ForecastItem): Json {
  return {
    ...item,
    errors: errors?.map(({ pointer, detail }) => `${pointer} ${detail}`).join("; "),
  };
}
