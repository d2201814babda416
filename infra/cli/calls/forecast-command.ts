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

/** Line of each call in a list of leads. Undefined: the file is an array of calls, by their indexes. */
type Lines = readonly number[] | undefined;

/** The client of the token that a deployment makes first. */
const defaultClient = "first";
const itemColumns = ["outcome", "at", "account", "reason", "errors"];
/** Columns of a forecast's calls. A list has lines; in JSON, as in the answer, calls have indexes. */
const columnsOf = (lines: Lines) => [lines === undefined ? "index" : "line", ...itemColumns];
const accountColumns = ["account", "calls", "first_at", "last_at", "limit", "rule", "waiting"];
const ruleColumns = ["limit", "rule", "calls", "longest"];

export const forecastCommands: Record<string, Command> = {
  async forecast(_rest, values, { ask, terminal }) {
    if (values.file === undefined)
      throw new Misuse("forecast needs --file with a CSV of leads, or a JSON array of calls.");
    const { calls, lines, refused } = await callsOf(values.file, values, { ask, terminal });
    const { at, client = defaultClient, items } = values;
    const plan = values.plan === undefined ? {} : { plan: await readJson(values.plan, terminal) };
    const which = items ?? (values.csv === true ? "all" : "problems");
    const asked = { client, calls, ...(at === undefined ? {} : { at }), ...plan, items: which };
    const answer = await ask<Forecast>("/forecast", asked);
    const rows = (answer.items ?? []).map((item) => itemRow(item, lines));
    const listed = { rows, columns: columnsOf(lines) };
    const { deployed } = answer;
    if (values.json === true) terminal.print(JSON.stringify(answer));
    else if (values.csv === true) show(listed.rows, listed.columns, { values, terminal });
    else {
      tell(answer, { ...listed, lines }, terminal);
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
): Promise<{ calls: unknown; lines?: Lines; refused: number }> {
  if (!/\.(csv|tsv|txt)$/i.test(path)) {
    return { calls: await readJson(path, terminal), refused: 0 };
  }
  const table = await tableOf(path, terminal);
  const plan = await ask<PlanTexts>("/plan");
  const isForPeople = values.json !== true && values.csv !== true;
  const say = isForPeople ? terminal.print : terminal.complain;
  const { leads, refused } = await leadsOf({ path, table, plan }, values, say);
  for (const { line, reason } of refused) say(`Line ${line} ${reason}`);
  const lines = leads.map(({ line }) => line);
  return { calls: leads.map(({ call }) => call), lines, refused: refused.length };
}

/** Prints a forecast for people. */
function tell(
  answer: Forecast,
  { rows, columns: itemsColumns, lines }: { rows: Json[]; columns: string[]; lines: Lines },
  terminal: Terminal,
): void {
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
    const from = answer.unread_from ?? 0;
    const place = lines === undefined ? `index ${from}` : `line ${lines[from]}`;
    print(
      `${unread} calls, the first at ${place}, are forecast without the caps and the do-not-call list of their numbers.`,
    );
  }
  const table = (some: Json[], columns: string[]) => {
    if (some.length > 0) show(some, columns, { values: {}, terminal });
  };
  table(answer.accounts.map(accountRow), accountColumns);
  table(answer.rules.map(ruleRow), ruleColumns);
  table(answer.reasons, ["outcome", "calls", "reason"]);
  table(rows, itemsColumns);
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

function itemRow({ errors, ...item }: ForecastItem, lines: Lines): Json {
  return {
    ...item,
    ...(lines === undefined ? {} : { line: lines[item.index] }),
    errors: errors?.map(({ pointer, detail }) => `${pointer} ${detail}`).join("; "),
  };
}
