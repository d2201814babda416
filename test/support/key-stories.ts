/** Stories of requests that come one after another under one key, for the libraries of both languages. */
import * as fc from "fast-check";
import { expect } from "vitest";

/** Faults of one try. The first two never leave the machine. */
export const storyFaults = [
  "dead port",
  "unknown host",
  "cut before",
  "cut after",
  "503 before",
  "429 before",
  "401 before",
] as const;
export type StoryFault = (typeof storyFaults)[number];

const neverSent = new Set<string | undefined>(["dead port", "unknown host"]);
/** Answers after which nothing of this try was accepted. */
const refusing = new Set<string | undefined>(["429 before", "401 before"]);

const someFaults = fc.array(fc.constantFrom(...storyFaults), { maxLength: 3 });
/** Faults of a request of three tries that never leaves: drawn among all, there would be one in a hundred. */
const noneLeft = fc.array(fc.constantFrom("dead port", "unknown host"), {
  minLength: 3,
  maxLength: 3,
});

/** Faults of the tries of each request. After them nothing fails. */
export const aStory = fc.record({
  isBatch: fc.boolean(),
  requests: fc.array(fc.oneof(someFaults, noneLeft), { minLength: 1, maxLength: 4 }),
});

/** Outcome of one request. */
export interface Told {
  /** Faults of this request and of those before it, as they were met. */
  seen: readonly string[];
  /** Undefined: its calls were accepted. */
  error: { type: string; isMaybeAccepted: boolean } | undefined;
}

/** Expects that what each error says is the OR over all tries under the key, and is never taken back. */
export function expectTold(story: readonly Told[]): void {
  let isAccepted = false;
  for (const { seen, error } of story) {
    isAccepted ||= error === undefined;
    if (error === undefined) continue;
    const isMaybe = seen.some((fault) => !neverSent.has(fault) && !refusing.has(fault));
    expect([seen, error.isMaybeAccepted]).toEqual([seen, isAccepted || isMaybe]);
    const isSent = isAccepted || seen.some((fault) => !neverSent.has(fault));
    expect([seen, error.type === "not_sent"]).toEqual([seen, !isSent]);
  }
}
