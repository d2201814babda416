import { findAnswerMeaning } from "../calls/answer-codes.ts";
import type { ReasonText } from "../calls/reason-text.ts";
import { divideReason, reasonsOfRows } from "../calls/reasons.ts";
import { texts } from "./gates.ts";

export { breakerName } from "./gates.ts";

const all: ReadonlyMap<string, ReasonText> = new Map(
  [reasonsOfRows, ...texts].flatMap((some) => Object.entries(some)),
);

/** Returns what is said of a reason. What follows its colon is left out. Undefined for a provider's own code. */
export function findText(reason: string): ReasonText | undefined {
  return all.get(divideReason(reason).reason);
}

/**
 * Returns the meaning of each reason of a row, by name. A provider's own codes, such as `http_429` or `telnyx_10011`, are
 * rows' reasons as well and are not listed here.
 */
export function listMeanings(): Record<string, string> {
  const meanings = [...all].flatMap(([reason, { means }]) =>
    means === undefined ? [] : [[reason, means] as const],
  );
  return Object.fromEntries(meanings.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Returns the meaning of a row's reason; undefined for a provider's own code. */
export function findMeaning(reason: string): string | undefined {
  return findText(reason)?.means;
}

/** Lists the reasons that hold calls, for descriptions: `a`, `b`. */
export function listHolding(): string {
  const holding = [...all].flatMap(([reason, { holds }]) => (holds === undefined ? [] : reason));
  return holding
    .toSorted()
    .map((reason) => `\`${reason}\``)
    .join(", ");
}

/** Says in a sentence what holds calls. `name` is the pause, breaker, rule, account or check; it may be empty. */
export function sayHolder(reason: string, name: string): string {
  const say = all.get(reason)?.holds;
  const isNamed = name !== "" || say?.("") === say?.("x");
  if (say !== undefined && isNamed) return say(name);
  return `${sayCode(reason)}${name === "" ? "" : ` (${name})`}`;
}

/** Says in a sentence why a call is in its state. A text that is no code, as of a client's cancellation, is returned as it is. */
export function sayReason(code: string): string {
  if (!code.includes(":")) return sayCode(code);
  const { reason, name } = divideReason(code);
  return sayHolder(reason, name);
}

function sayCode(code: string): string {
  const meaning = findMeaning(code) ?? findAnswerMeaning(code);
  // A code such as `twilio_21211` is explained by its provider alone.
  return (
    meaning ?? code.replace(/^([a-z]+)_(\d+)$/, "The provider $1 answered with its own code $2.")
  );
}

/** Describes the name of what holds calls, for the answers' documents. */
export const holderNameText =
  "The pause, breaker, rule of the plan, account or check; may be empty";
