import { callStates } from "#shared/calls/states.ts";
import { optionsOf } from "./options.ts";

/** Help for one command: its words, one sentence, and an example. */
interface Help {
  args?: string;
  about: string;
  example: string;
}

const id = "call_01KA…_00003";

export const helps: Record<string, Help> = {
  list: { about: "Lists calls, newest first.", example: "list --state NEEDS_REVIEW --agent sales" },
  show: { args: "ID", about: "Shows one call with its history.", example: `show ${id}` },
  request: {
    args: "ID",
    about: "Follows a request until all of its calls are finished.",
    example: "request 01KA…",
  },
  requests: {
    about: "Lists requests and their progress, newest first.",
    example: "requests --calls-min 1 --limit 20",
  },
  campaigns: {
    args: "[CAMPAIGN --client CLIENT]",
    about: "Lists campaigns, or shows the progress of one.",
    example: "campaigns spring --client crm",
  },
  splits: {
    about: "Shows the arms of the plan's splits, and the verdict on each.",
    example: "splits",
  },
  watch: {
    args: "[requests|campaigns|needs]",
    about:
      "Refreshes the table every few seconds until Ctrl-C. In a pipe: one line of JSON per change.",
    example: "watch needs",
  },
  forecast: {
    about:
      "Shows when the calls of a CSV of leads, or of a JSON array, would be dialed. Nothing is sent.",
    example: "forecast --file leads.csv --client crm",
  },
  send: {
    args: "FILE",
    about: "Sends a CSV or JSON of leads as one campaign. Without --yes it only checks them.",
    example: "send leads.csv --campaign spring --client crm",
  },
  bulk: {
    args: "cancel|placed|close|redial",
    about: "Acts on all calls that match a filter. It counts them first, and asks.",
    example: "bulk cancel --client crm --campaign spring",
  },
  redial: {
    args: "ID… or a filter",
    about: "Makes new calls in place of finished ones. Those that need review need --not-placed.",
    example: "redial --state REJECTED --dry-run",
  },
  resolve: {
    args: "ID… or a filter",
    about: "Decides calls that need review, by what the provider's records show.",
    example: `resolve ${id} --placed`,
  },
  cancel: {
    args: "ID… or a filter",
    about: "Cancels calls that are WAITING, for good.",
    example: "cancel --request 01KA… --yes",
  },
  pause: {
    about: "Keeps calls WAITING until they are resumed.",
    example: "pause --account vapi --reason repair",
  },
  resume: {
    about: "Ends a pause, or closes a circuit breaker.",
    example: "resume --account vapi",
  },
  pauses: { about: "Lists pauses and open circuit breakers.", example: "pauses" },
  backlogs: {
    about: "Lists waiting calls by client and agent, and what blocks them.",
    example: "backlogs --limit 1000",
  },
  stats: { about: "Counts calls by state and hour.", example: "stats --hours 48" },
  usage: {
    about: "Sums calls, seconds and cost from one day to another, in UTC, both included.",
    example: "usage --from 2026-11-01 --until 2026-11-30 --csv",
  },
  dnc: {
    args: "add|remove|check NUMBER… | retire-former-key",
    about: "Adds, removes or checks numbers of the do-not-call list.",
    example: "dnc add --file numbers.txt",
  },
  erase: {
    args: "NUMBER…",
    about: "Erases what is known of numbers, and cancels their waiting calls.",
    example: "erase +12025550123 --dry-run",
  },
  dead: {
    args: "list | show NAME | put-back NAME… | put-back --all | discard NAME… --yes",
    about: "Handles messages that failed a hundred times.",
    example: "dead show calls-5f0c… --reveal",
  },
  clients: {
    args: "[list] | put CLIENT | remove CLIENT | receivers CLIENT",
    about:
      "Lists, makes, changes or removes clients whose tokens operators make. put removes limits that are not given. receivers lists those that a client has made, or deletes one.",
    example: "clients put shop --agents sales --waiting 500",
  },
  tokens: {
    args: "[list] | make --client CLIENT | revoke ID",
    about: "Lists, makes or revokes tokens of clients that operators made. A token is shown once.",
    example: "tokens make --client shop --rights call,read",
  },
  restored: {
    about: "Shows whether the ledger was restored, and to what time it went back.",
    example: "restored --at 2026-11-21T09:00:00Z",
  },
  completion: {
    args: "bash|zsh|fish",
    about: "Prints a script that completes commands and options in this shell.",
    example: "completion bash >> ~/.bash_completion",
  },
  audit: {
    about: "Lists what operators or clients did, newest first.",
    example: "audit --limit 200 --csv",
  },
};

/** Value and meaning of each option. */
const optionTexts: Record<string, string> = {
  state: `STATE         ${callStates.join(", ")}`,
  request: "ID          calls of this request",
  number: "NUMBER       calls to this number, as people write it",
  agent: "AGENT         of this agent",
  account: "ACCOUNT     of this account of the plan",
  client: "CLIENT       of this client",
  campaign: "CAMPAIGN   of this campaign (Call-Campaign)",
  reason: "REASON       for this reason; of a pause: why it is made",
  from: "TIME           from this time on; of calls, as accepted; such as 2026-11-21T09:00:00Z",
  until: "TIME          accepted before this time; of a pause: when it ends",
  at: "TIME             of a forecast: when calls are posted (default: now); of restored: when the backup was made",
  limit: "N             N at most",
  hours: "N             the last N hours",
  file: "FILE           read from this file; - is stdin",
  plan: "FILE           another dial plan, to compare",
  items: "problems|all  problems: only items with a problem",
  breaker: "KEY         key of an open circuit breaker",
  "calls-min": "N         of at least N calls (2)",
  reveal: "             shows what is hidden, and is recorded",
  placed: "             the provider's records show the call",
  "not-placed": "         the provider's records do not show the call",
  renew: "              hashes numbers again after a rotation of HASH_KEY",
  unnoticed: "          declares a restore that the service has not noticed",
  all: "                all dead letters",
  yes: "                does not ask",
  "dry-run": "            shows what would be done, and does nothing",
  country: "COUNTRY     of numbers without a country code, such as US; else the plan's",
  map: "ROLE=COLUMN     what a column means",
  refused: "FILE        writes refused rows to this file, as CSV",
  again: "              sends a file again that was already sent",
  lost: "accepted|not-accepted  the outcome of a part whose answer was lost",
  agents: "AGENT,…      agents by name; default: *, all of them",
  rights: "RIGHT,…      of a token: call (default), read, cancel, opt_out, events",
  mode: "test           of a token: its calls are tests",
  "not-after": "TIME      when a token expires: a date or an instant",
  "calls-per-day": "N     calls that are accepted in a day, UTC",
  waiting: "N           calls that may wait",
  reuse: "              takes the name of a removed client: tokens can then read its requests",
  delete: "RECEIVER     deletes this receiver of the client",
  csv: "                comma-separated values",
  clients: "            what clients did, not operators",
  token: "ID            only of this token",
  action: "ACTION       only this action, such as pause",
  target: "TEXT         only on this target, such as 'agent sales'",
  by: "client|day|agent|campaign  one row for each",
  json: "               one JSON value per line, for scripts",
};

/** Returns the help of one command: usage, options and an example. */
export function helpOf(command: string): string {
  const { args = "", about, example } = helps[command] ?? { about: "", example: command };
  const names = [...(optionsOf[command] ?? []), "json"];
  return [
    ...wrapped(`npm run -s calls -- ${[command, args].filter(Boolean).join(" ")} [OPTIONS]`, ""),
    "",
    ...wrapped(about, ""),
    "",
    ...names.flatMap((name) => wrapped(`  --${name} ${optionTexts[name] ?? ""}`.trimEnd())),
    "",
    `Example: npm run -s calls -- ${example}`,
  ].join("\n");
}

const lineMax = 80;

/** Wraps a line. Those after the first begin with the indent. */
function wrapped(line: string, indent = " ".repeat(24)): string[] {
  if (line.length <= lineMax) return [line];
  const end = line.lastIndexOf(" ", lineMax);
  return [line.slice(0, end), ...wrapped(`${indent}${line.slice(end + 1)}`, indent)];
}
