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
    about: "Lists requests and how far they are, newest first.",
    example: "requests --calls-min 1 --limit 20",
  },
  campaigns: {
    args: "[NAME --client C]",
    about: "Lists campaigns, or shows how far one of a client is.",
    example: "campaigns spring --client crm",
  },
  splits: {
    about: "Shows the arms of the plan's splits, and the verdict on each.",
    example: "splits",
  },
  watch: {
    args: "[requests|campaigns|needs]",
    about:
      "Shows the table again every few seconds until Ctrl-C. In a pipe: a line of JSON per change.",
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
    about: "Acts on all calls that fit a filter. It counts them first, and asks.",
    example: "bulk cancel --client crm --campaign spring",
  },
  redial: {
    args: "ID… or a choice",
    about: "Makes new calls in place of finished ones. Those that need review need --not-placed.",
    example: "redial --state REJECTED --dry-run",
  },
  resolve: {
    args: "ID… or a choice",
    about: "Decides calls that need review, by what the provider's records show.",
    example: `resolve ${id} --placed`,
  },
  cancel: {
    args: "ID… or a choice",
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
    about: "Counts the calls, seconds and cost of days in UTC, both days included.",
    example: "usage --from 2026-11-01 --until 2026-11-30 --csv",
  },
  dnc: {
    args: "add|remove|check NUMBER… | retire-former-key",
    about: "Adds, removes or checks numbers of the do-not-call list.",
    example: "dnc add --file numbers.txt",
  },
  erase: {
    args: "NUMBER…",
    about: "Erases what is known of numbers, and cancels what waits for them.",
    example: "erase +12025550123 --dry-run",
  },
  dead: {
    args: "list | show NAME | put-back NAME… | put-back --all | discard NAME… --yes",
    about: "Handles messages that failed a hundred times.",
    example: "dead show calls-5f0c… --reveal",
  },
  clients: {
    args: "[list] | put NAME | remove NAME",
    about:
      "Lists, makes, changes or removes clients whose tokens operators make. put removes each limit that is not given.",
    example: "clients put shop --agents sales --waiting 500",
  },
  tokens: {
    args: "[list] | make --client C | revoke ID",
    about: "Lists, makes or revokes tokens of such clients. A token is shown once.",
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
    about: "Lists what operators did, or clients, newest first.",
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
  campaign: "NAME       of this campaign (Call-Campaign)",
  reason: "REASON       for this reason; of a pause: why, for other operators",
  from: "TIME           from this time on; of calls, as accepted; such as 2026-11-21T09:00:00Z",
  until: "TIME          accepted before this time; of a pause: when it ends",
  at: "TIME             the time that is meant; now, if it is not given",
  limit: "N             N at most",
  hours: "N             the last N hours",
  file: "FILE           read from this file; - is stdin",
  plan: "FILE           another dial plan, to compare",
  items: "WHICH         problems or all",
  breaker: "KEY         key of an open circuit breaker",
  "calls-min": "N         of at least N calls (2)",
  reveal: "             with what is hidden, which is recorded",
  placed: "             the provider's records show the call",
  "not-placed": "         they do not show it",
  renew: "              hashes numbers again after a rotation of HASH_KEY",
  unnoticed: "          the service has not noticed the restore",
  all: "                every one",
  yes: "                does not ask",
  "dry-run": "            says what would be done, and does nothing",
  country: "COUNTRY     of numbers without a country code, such as US; else the plan's",
  map: "ROLE=COLUMN     what a column means",
  refused: "FILE        where rows are written that are not sent",
  again: "              sends a file once more that was sent",
  lost: "STATE          accepted or not-accepted: the outcome of a part whose answer was lost",
  agents: "A,B          agents by name; * is all of them, as without it",
  rights: "R,R          of a token: call (as without it), read, cancel, opt_out",
  mode: "test           of a token: its calls are tests",
  "not-after": "TIME       when a token expires",
  "calls-per-day": "N     calls that are accepted in a day, UTC",
  waiting: "N           calls that may wait",
  csv: "                comma-separated values",
  clients: "            what clients did, not operators",
  token: "ID            of this token alone",
  action: "NAME         of this action alone, such as pause",
  target: "TEXT         of what it concerned alone, such as 'agent sales'",
  by: "WHAT             client, day, agent or campaign",
  json: "               a JSON value a line, for scripts",
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
