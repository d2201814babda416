import { findMeaning } from "#shared/rules/texts.ts";

/** A trouble in words: what it means, and what to do about it. No word is a provider's own, as these quote numbers. */
export interface Texts {
  means: string;
  fix: string;
}

/** Meanings of HTTP statuses, of which codes such as `http_401` consist. */
const statusTexts: Readonly<Record<string, string>> = {
  "400": "the request is wrong for the provider",
  "401": "the credentials are wrong",
  "402": "the account has to pay",
  "403": "the provider forbids it, and does not say what",
  "404": "something in the request does not exist at the provider",
  "408": "the provider did not get the request in time",
  "422": "a field of the request is wrong for the provider",
  "429": "more calls than the provider takes",
};
const codeTexts: Readonly<Record<string, string>> = {
  time_out: "no answer in time",
  econnrefused: "the connection was refused",
  enotfound: "the host was not found",
  network_error: "the connection broke",
  numbers_blamed:
    "50 different numbers in a row were blamed and none was placed, so check the numbers' format",
};

/** Says in words what a code means; empty for a provider's own. */
export function codeMeaning(code: string): string {
  const status = /^http_(\d{3})$/.exec(code)?.[1];
  if (status !== undefined)
    return statusTexts[status] ?? (status.startsWith("5") ? "the provider failed" : "");
  return codeTexts[code] ?? "";
}

/** Words for calls that wait for a decision, by the reason of their rows. */
export function reviewTexts(reason: string): Texts {
  const meaning = codeMeaning(reason);
  return {
    means:
      findMeaning(reason) ??
      `The provider did not say for sure whether the call was placed (${reason}${meaning === "" ? "" : `: ${meaning}`}).`,
    fix: "See in the provider's records whether it was placed, and decide.",
  };
}

export const textsOf = {
  pause: {
    means: "An operator paused these calls.",
    fix: "Resume them once their cause is gone; they expire meanwhile.",
  },
  systemPause: {
    means:
      "The service paused the agent: its calls end as soon as they are answered, or carriers block them.",
    fix: "Look at its latest results, fix the agent or its numbers, and resume it.",
  },
  events: {
    means: "Events failed ten times and are not sent again.",
    fix: "Fix the receiver, then replay its events.",
  },
  pool: {
    means: "Carriers have blocked all numbers of the agent's pool, so they rest.",
    fix: "Add numbers to the pool, or wait until the first has rested.",
  },
} as const satisfies Record<string, Texts>;

/** Advice on calls that only a person can free. */
export const heldFix =
  "Restore it in the dial plan or the settings, or cancel the calls; they expire meanwhile.";
