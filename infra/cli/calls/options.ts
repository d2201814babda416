import { parseArgs } from "node:util";
import { Failure } from "./failures.ts";

const options = {
  state: { type: "string" },
  request: { type: "string" },
  number: { type: "string" },
  agent: { type: "string" },
  provider: { type: "string" },
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
  json: { type: "boolean" },
  csv: { type: "boolean" },
  help: { type: "boolean" },
} as const;

const choosing = ["state", "request", "number", "agent", "provider", "reason", "from", "until"];
/** Options of each command, beside --json. */
export const optionsOf: Record<string, string[]> = {
  list: [...choosing, "limit", "csv"],
  show: ["reveal"],
  redial: [...choosing, "not-placed"],
  resolve: [...choosing, "placed", "not-placed"],
  cancel: ["request", "agent"],
  bulk: [
    ...["state", "client", "campaign", "agent", "account", "reason", "request", "from", "until"],
    ...["not-placed", "dry-run", "yes"],
  ],
  pause: ["agent", "account"],
  resume: ["agent", "account", "breaker"],
  pauses: ["csv"],
  backlogs: ["limit", "csv"],
  stats: ["hours"],
  dnc: ["file", "renew", "csv"],
  erase: ["csv"],
  audit: ["limit", "csv"],
  forecast: ["file", "client", "at", "plan", "items", "csv"],
  restored: ["at", "unnoticed"],
  dead: ["limit", "reveal", "all", "yes", "csv"],
};

/** @throws a Failure if an option is unknown or lacks its value */
export function parse(words: string[]) {
  try {
    return parseArgs({ args: words, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "wrong usage", { cause: error });
  }
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
  if (given.length !== 1) throw new Failure(`Give one of ${names}.`);
  return Object.fromEntries(given);
}

/** Parses an option's number from 1 to 999,999. */
export function numberOf(text: string, name: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Failure(`${name} must be a number from 1 on.`);
  return Number(text);
}
