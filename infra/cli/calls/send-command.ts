import { writeFile } from "node:fs/promises";
import type { FoundFile, PlanTexts, Senders } from "#shared/answers/answers.ts";
import {
  askForClient,
  createPostForClient,
  RefusedError,
  type SendingDeps,
} from "#shared/leads/ask-client-api.ts";
import { checkLeads, findUnsent, type LeadsChecked } from "#shared/leads/check-leads.ts";
import { divideLeads } from "#shared/leads/divide-leads.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import { toRefusedCsv } from "#shared/leads/refused-csv.ts";
import type { RefusedRow } from "#shared/leads/read-leads.ts";
import { sendLeads } from "#shared/leads/send-leads.ts";
import { toShellWord } from "#shared/lib/shell-word.ts";
import { createSend } from "#infra/client/http.ts";
import { counted } from "./agree.ts";
import { type Client, tokenIn, urlIn } from "./client.ts";
import type { Command, CommandDeps } from "./command.ts";
import { Failure, Misuse, Refusal } from "./failures.ts";
import { leadsOf, tableOf } from "./lead-files.ts";
import type { Values } from "./options.ts";
import { barOf, show } from "./terminal.ts";

/** Refused rows that are printed; a file has all of them but duplicates. */
const printedMax = 20;

export const sendCommands: Record<string, Command> = {
  /** Reads leads, says what would happen to them, and with --yes sends them as one campaign. */
  async send([path], values, { ask, terminal }) {
    if (path === undefined) throw new Misuse("send needs a file of leads: CSV or JSON.");
    const { campaign } = values;
    if (campaign === undefined) throw new Misuse("send needs --campaign with a name.");
    const lost = lostOf(values.lost);
    const sender = await senderOf(values, ask);
    const { client, is_test: isTest } = sender;
    const mode = isTest ? "test" : "real";
    const from = { origin: urlIn(terminal.environment), token: tokenIn(terminal.environment) };
    const deps: SendingDeps = {
      post: createPostForClient({ ...from, client }, createSend(terminal.fetch)),
      sleep: terminal.sleep,
    };
    const say = (line: string) => (values.json === true ? undefined : terminal.print(line));
    const table = await tableOf(path, terminal);
    const plan = await ask<PlanTexts>("/plan");
    const read = await leadsOf({ path, table, plan }, values, say);
    const { leads, refused } = read;

    const divided = await divideLeads(read);
    const { sent } = await told(
      askForClient<FoundFile>("/sent-files/find", { file: divided.file }, deps),
    );
    const bar = barOf(divided.parts.length, values, terminal);
    const checked = await checkLeads({ ...divided, client }, bar.update, ask);
    bar.stop();
    // The same words after an interruption mean the rest, not those who were called meanwhile.
    const isResumed = sent !== null && !sent.is_finished && sent.campaign === campaign;
    const isAgain = values.again === true && !isResumed;
    const again = isAgain && sent !== null ? { again: sent.round } : undefined;
    const unsent = findUnsent({ ...divided, ...checked }, { sent: again ? null : sent, lost });
    const all = [...refused, ...refusedBy(unsent, table)];
    await saveRefused(all, { table, values, terminal });
    reportForecast(checked, say);
    if (sent !== null) {
      const then = isResumed ? " Sending continues." : "";
      say(`This file was sent at ${sent.at} as campaign ${sent.campaign}, ${doneOf(sent)}.${then}`);
    }
    const calls = leads.length - unsent.length;
    if (values.yes !== true) {
      const rows = all.map(({ line, reason }) => ({ line, reason }));
      const checks = { client, mode, campaign, calls, refused: rows, sent };
      if (values.json === true) terminal.print(JSON.stringify(checks));
      const hint = hintOf(counted(calls, "lead"), asWhom(sender), isResumed ? null : sent);
      say(`Nothing was sent. ${hint}`);
      return all.length > 0 ? 2 : 0;
    }

    const leftOut = new Set(checked.leftOut.map(({ lead }) => lead.call.phone_number));
    const sendingBar = barOf(divided.parts.length, values, terminal);
    const result = await told(
      sendLeads(
        { ...divided, campaign, leftOut, lost, ...again },
        ({ partsSent }) => sendingBar.update(partsSent),
        deps,
      ),
    ).finally(() => sendingBar.stop());
    const answer = { client, mode, campaign, refused: all.length, ...result };
    if (values.json === true) terminal.print(JSON.stringify(answer));
    const callsText = counted(result.calls, "call");
    say(`Sent: ${callsText} as campaign ${campaign}, in ${counted(result.parts, "request")}.`);
    return all.length > 0 ? 2 : 0;
  },
};

type Sender = Senders["clients"][number];

/** Finds the client that --client names among those that may place calls. */
async function senderOf({ client: name }: Values, ask: Client): Promise<Sender> {
  const { clients } = await ask<Senders>("/senders");
  const sender = clients.find(({ client }) => client === name);
  if (sender !== undefined) return sender;
  const names = clients.map(({ client }) => client).join(", ") || "there is none";
  throw new Misuse(`--client is one that may place calls: ${names}.`);
}

function asWhom({ client, is_test: isTest }: Sender): string {
  return `as client ${client}${isTest ? ", as tests that phone nobody" : ""}`;
}

/** Returns the rows that the service would refuse, and those on the do-not-call list. */
function refusedBy(unsent: LeadsChecked["leftOut"], { rows }: LeadTable): RefusedRow[] {
  const byLine = new Map(rows.map((row) => [row.line, row]));
  return unsent.map(({ lead, reason }) => ({
    line: lead.line,
    cells: byLine.get(lead.line)?.cells ?? [],
    reason,
    isDuplicate: false,
  }));
}

/** Prints the first refused rows, and writes all but duplicates into the file that --refused names. */
async function saveRefused(
  refused: readonly RefusedRow[],
  {
    table,
    values,
    terminal,
  }: { table: LeadTable; values: Values; terminal: CommandDeps["terminal"] },
): Promise<void> {
  if (refused.length === 0) return;
  const sorted = refused.toSorted((one, other) => one.line - other.line);
  if (values.json !== true) {
    terminal.print(`${refused.length === 1 ? "1 row is" : `${refused.length} rows are`} not sent:`);
    const first = sorted.slice(0, printedMax).map(({ line, reason }) => ({ line, reason }));
    show(first, ["line", "reason"], { values: {}, terminal });
    if (sorted.length > printedMax) terminal.print(`… and ${sorted.length - printedMax} more.`);
  }
  const { refused: file } = values;
  if (file === undefined) {
    if (refused.some(({ isDuplicate }) => !isDuplicate))
      terminal.complain("--refused FILE writes these rows as CSV, to be fixed and sent.");
    return;
  }
  await writeFile(file, toRefusedCsv(table.columns, sorted), { mode: 0o600 }).catch(() => {
    throw new Misuse(`${file} cannot be written.`);
  });
}

function reportForecast({ forecasts }: LeadsChecked, say: (line: string) => void): void {
  const counts = new Map<string, number>();
  for (const { answer } of forecasts) {
    for (const [outcome, count] of Object.entries(answer.counts)) {
      if (outcome !== "refused" && count > 0)
        counts.set(outcome, (counts.get(outcome) ?? 0) + count);
    }
  }
  const args = [...counts].map(([outcome, count]) => `${count} ${outcome}`);
  say(`Forecast: ${args.join(", ") || "no calls"}.`);
  const first = forecasts[0]?.answer;
  if (first?.last_at !== null && first !== undefined) {
    const of = forecasts.length > 1 ? ` of the first of ${forecasts.length} requests` : "";
    say(`The first call${of} is dialed at ${first.first_at}, the last at ${first.last_at}.`);
  }
}

function doneOf({ parts }: NonNullable<FoundFile["sent"]>): string {
  const done = parts.filter(({ state }) => state === "sent").length;
  return done === parts.length ? "whole" : `${done} of ${parts.length} requests`;
}

/** Says how to send leads. If another campaign's sending of them is not finished, --again would call people twice. */
function hintOf(leads: string, whom: string, sent: FoundFile["sent"]): string {
  if (sent === null) return `To send ${leads} ${whom}, repeat the command with --yes.`;
  const again = "everybody is then called, also those who were sent before.";
  if (sent.is_finished) {
    return `To send ${leads} ${whom}, repeat the command with --yes --again: ${again}`;
  }
  const name = toShellWord(sent.campaign);
  return `To send the rest ${whom}, repeat the command with --campaign ${name} --yes. With --yes --again: ${again}`;
}

function lostOf(text: string | undefined): "accepted" | "not_accepted" | undefined {
  if (text === undefined || text === "accepted") return text;
  if (text === "not-accepted") return "not_accepted";
  throw new Misuse("--lost is accepted or not-accepted.");
}

/** Turns errors for people into failures of the command. */
async function told<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    const message = error instanceof Error ? error.message : "It failed.";
    if (error instanceof RefusedError && error.status < 500) {
      throw new Refusal(`${error.status} ${message}`);
    }
    throw new Failure(message, { cause: error });
  });
}
