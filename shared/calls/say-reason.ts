import { findAnswerMeaning } from "./answer-codes.ts";
import { findMeaning } from "./reasons.ts";

/** Sentences on what holds calls, with the name of the pause, breaker, rule, account or check. */
const holders: Readonly<Record<string, (name: string) => string>> = {
  breaker_open: (name) => `The circuit breaker ${breakerName(name)} is open.`,
  caller_ids: (name) => `All numbers of the pool of account ${name} rest.`,
  calls_per_day: (name) => `Account ${name} has placed its calls of this day (UTC).`,
  check_wait: (name) => `Check ${name} asked to wait.`,
  check_failed: (name) => `Check ${name} gave no valid answer and is asked again.`,
  hours: (name) => `The calling hours ${hoursName(name)}are closed.`,
  in_flight: (name) => `Account ${name} has as many in flight as it has taken at once so far.`,
  live_calls: (name) => `Account ${name} has as many live calls as it may have.`,
  max_calls: (name) => `The numbers were called as often as they may be${ruleText(name)}.`,
  not_before: () => "The client wants them later (Call-Not-Before).",
  not_measured: (name) => `Account ${name} answers slowly, and its speed is not known yet.`,
  not_read: () => "Not all that waits could be read.",
  other_hash_key: () => "The do-not-call list was made under another HASH_KEY.",
  pace: (name) => `In turn for the pace of account ${name}.`,
  paused: (name) => `Paused: ${name}.`,
  restored: () => "The ledger was restored: nothing is dialed.",
  route_gone: (name) => `The dial plan has no route for agent ${name}.`,
  slow: (name) => `Account ${name} answers slowly: few go at once.`,
  turn: (name) => `In turn at account ${name}.`,
};

/** Says in a sentence what holds calls. `name` is the pause, breaker, rule, account or check; it may be empty. */
export function sayHolder(reason: string, name: string): string {
  const say = Object.hasOwn(holders, reason) ? holders[reason] : undefined;
  const isNamed = name !== "" || say?.("") === say?.("x");
  if (say !== undefined && isNamed) return say(name);
  return `${sayCode(reason)}${name === "" ? "" : ` (${name})`}`;
}

/** Says in a sentence why a call is in its state. A provider's own code without a known meaning is returned as it is. */
export function sayReason(code: string): string {
  const colon = code.indexOf(":");
  return colon === -1 ? sayCode(code) : sayHolder(code.slice(0, colon), code.slice(colon + 1));
}

function sayCode(code: string): string {
  return findMeaning(code) ?? findAnswerMeaning(code) ?? code;
}

/** Names what a breaker stands for by its key: `account:vapi`, or `backlog:` with a client and an agent. */
export function breakerName(key: string): string {
  const [kind = "", name = ""] = key.split(/:(.*)/s, 2);
  if (kind !== "backlog") return `of ${kind} ${name}`.trimEnd();
  const parts: unknown = JSON.parse(name);
  const [client, agent] = Array.isArray(parts) ? parts.map(String) : [];
  return `of ${client}'s calls to ${agent}`;
}

/** Names a rule of hours by its place in the plan: `countries.FR` is `of FR`. */
function hoursName(rule: string): string {
  const [kind = "", ...rest] = rule.split(".");
  if (["countries", "regions"].includes(kind)) return `of ${rest.join(".")} `;
  return rule === "callingHours.default" || rule === "" ? "" : `of ${rule} `;
}

function ruleText(rule: string): string {
  return rule === "" ? "" : ` (${rule})`;
}
