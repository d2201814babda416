import { parseArgs } from "node:util";
import { Misuse } from "./failures.ts";
import { nearestTo } from "./nearest.ts";

const options = {
  state: { type: "string" },
  request: { type: "string" },
  number: { type: "string" },
  agent: { type: "string" },
  account: { type: "string" },
  breaker: { type: "string" },
  at: { type: "string" },
  unnoticed: { type: "boolean" },
  all: { type: "boolean" },
  yes: { type: "boolean" },
  reason: { type: "string" },
  from: { type: "string" },
  until: { type: "string" },
  limit: { type: "string" },
  hours: { type: "string" },
  file: { type: "string" },
  reveal: { type: "boolean" },
  placed: { type: "boolean" },
  "not-placed": { type: "boolean" },
  renew: { type: "boolean" },
  client: { type: "string" },
  campaign: { type: "string" },
  "dry-run": { type: "boolean" },
  plan: { type: "string" },
  items: { type: "string" },
  country: { type: "string" },
  map: { type: "string", multiple: true },
  refused: { type: "string" },
  again: { type: "boolean" },
  lost: { type: "string" },
  json: { type: "boolean" },
  csv: { type: "boolean" },
  help: { type: "boolean" },
  version: { type: "boolean" },
  "calls-min": { type: "string" },
  agents: { type: "string" },
  rights: { type: "string" },
  mode: { type: "string" },
  "not-after": { type: "string" },
  "calls-per-day": { type: "string" },
  waiting: { type: "string" },
  delete: { type: "string" },
  reuse: { type: "boolean" },
  by: { type: "string" },
  clients: { type: "boolean" },
  token: { type: "string" },
  action: { type: "string" },
  target: { type: "string" },
} as const;

const fields = ["state", "request", "client", "campaign", "agent", "reason", "from", "until"];
const choosing = [...fields, "number", "country", "account"];
/** Options of commands that ask before they act. */
const asking = ["yes", "dry-run"];
/** Options of each command, beside --json and --help. */
export const optionsOf: Record<string, string[]> = {
  list: [...choosing, "limit", "csv"],
  show: ["reveal"],
  redial: [...choosing, "not-placed", ...asking],
  resolve: [...choosing, "placed", "not-placed", ...asking],
  cancel: ["request", "agent", ...asking],
  bulk: [...fields, "account", "not-placed", ...asking],
  pause: ["agent", "account", "client", "reason", "until", ...asking],
  resume: ["agent", "account", "client", "breaker"],
  pauses: ["csv"],
  backlogs: ["limit", "csv"],
  stats: ["hours"],
  splits: ["csv"],
  usage: ["by", "client", "from", "until", "csv"],
  dnc: ["client", "file", "country", "map", "refused", "renew", "csv", ...asking],
  erase: ["country", "csv", ...asking],
  audit: ["clients", "token", "action", "target", "from", "until", "limit", "csv"],
  forecast: ["file", "client", "at", "plan", "items", "csv", "country", "agent", "map"],
  request: [],
  requests: ["client", "campaign", "agent", "calls-min", "limit", "csv"],
  campaigns: ["client", "limit", "csv"],
  watch: ["client", "campaign", "agent", "calls-min", "limit"],
  send: ["campaign", "client", "country", "agent", "map", "refused", "again", "lost", "yes"],
  restored: ["at", "unnoticed"],
  dead: ["limit", "reveal", "all", "csv", "yes"],
  clients: ["agents", "calls-per-day", "waiting", "reuse", "delete", "csv", ...asking],
  tokens: ["client", "agents", "rights", "mode", "not-after", "csv", ...asking],
  completion: [],
};

/** Words that a command takes after its name; the others take any number. */
const argsMaxOf: Record<string, number> = {
  list: 0,
  show: 1,
  pause: 0,
  resume: 0,
  pauses: 0,
  backlogs: 0,
  stats: 0,
  splits: 0,
  usage: 0,
  audit: 0,
  forecast: 0,
  request: 1,
  requests: 0,
  campaigns: 1,
  watch: 1,
  send: 1,
  restored: 0,
  clients: 2,
  tokens: 2,
  completion: 1,
};

/** @throws a Misuse if a command has more words than it takes: it would do less than was asked for, or more */
export function requireArgs(command: string, args: readonly string[]): void {
  const extra = args[argsMaxOf[command] ?? Infinity];
  if (extra === undefined) return;
  throw new Misuse(`${command} does not take the word ${extra}. See ${command} --help.`);
}

/** @throws a Misuse if an option is unknown to the command, or lacks its value */
export function parse(args: string[]) {
  const loose = parseArgs({
    args: args,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const [command = ""] = loose.positionals;
  const own = Object.hasOwn(optionsOf, command) ? optionsOf[command] : undefined;
  const known = ["json", "help", "version", ...(own ?? Object.keys(options))];
  for (const token of loose.tokens)
    if (token.kind === "option") requireKnown(token, known, command);
  const parsed = parseArgs({ args: args, options, allowPositionals: true, strict: true });
  const { state } = parsed.values;
  if (state !== undefined) parsed.values.state = state.toUpperCase().replaceAll(/[ -]/g, "_");
  return parsed;
}

interface Option {
  name: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}

function requireKnown(
  { name, value, inlineValue }: Option,
  known: string[],
  command: string,
): void {
  const type = isOption(name) && known.includes(name) ? options[name].type : undefined;
  if (type === undefined) {
    const near = nearestTo(name, known);
    const hint = near === undefined ? `See ${command} --help.` : `Did you mean --${near}?`;
    throw new Misuse(`${command} has no option --${name}. ${hint}`.trimStart());
  }
  const isMissing = value === undefined || (inlineValue !== true && value.startsWith("--"));
  if (type === "string" && isMissing) throw new Misuse(`--${name} needs a value.`);
  if (type === "boolean" && value !== undefined) throw new Misuse(`--${name} takes no value.`);
}

function isOption(name: string): name is keyof typeof options {
  return Object.hasOwn(options, name);
}
export type Values = ReturnType<typeof parse>["values"];

/** Returns the one option that is given. @throws a Failure if none or several are given */
export function chosen(
  what: Record<string, string | undefined>,
  names: string,
): Record<string, string> {
  const given = Object.entries(what).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  if (given.length !== 1) throw new Misuse(`Give one of ${names}.`);
  return Object.fromEntries(given);
}

/** Parses an option's number from 1 to 999,999. */
export function numberOf(text: string, name: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Misuse(`${name} must be a number from 1 to 999,999.`);
  return Number(text);
}
