import type { Results } from "#shared/answers/answers.ts";
import { stateText } from "./shared.tsx";

/** An end of a call: a state, or a result. */
export type Outcome = Results["ends"][number]["outcome"];
type Status = keyof Results["total"]["results"];

/** Names of results, in the order in which charts show them. */
export const resultNames: Readonly<Record<Status, string>> = {
  completed: "Answered",
  voicemail: "Voicemail",
  no_answer: "No answer",
  busy: "Busy",
  declined: "Declined",
  failed: "Failed",
  invalid: "No such number",
  blocked: "Blocked",
  unknown: "Result unknown",
};

const stateNames: Partial<Record<Outcome, string>> = {
  PLACED: "Placed, result not polled",
};

/** Names an end in words. */
export function outcomeText(outcome: Outcome): string {
  if (outcome === "live") return "Live";
  if (isStatus(outcome)) return resultNames[outcome];
  return stateNames[outcome] ?? stateText(outcome);
}

function isStatus(outcome: Outcome): outcome is Status {
  return Object.hasOwn(resultNames, outcome);
}

/** Ends in the order of a chart. */
export const outcomes: readonly Outcome[] = [
  "completed",
  "voicemail",
  "no_answer",
  "busy",
  "declined",
  "failed",
  "invalid",
  "blocked",
  "unknown",
  "PLACED",
  "REJECTED",
  "EXPIRED",
  "CANCELLED",
  "REDIALED",
];

export function rateText(rate: number | null): string {
  return rate === null ? "–" : `${Math.round(rate * 100)} %`;
}

/** Describes a length: `71 s`, `12 min`, `3 h`. */
export function lengthText(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
