import { type ComponentChildren } from "preact";

/** The states of a call, in the order in which they are shown. */
export const states = [
  "WAITING",
  "DIALING",
  "UNKNOWN",
  "NEEDS_REVIEW",
  "PLACED",
  "REJECTED",
  "EXPIRED",
  "CANCELLED",
  "REDIALED",
];
export const names: Record<string, string> = {
  WAITING: "Waiting",
  DIALING: "Dialing",
  UNKNOWN: "Unknown",
  NEEDS_REVIEW: "Needs review",
  PLACED: "Placed",
  REJECTED: "Rejected",
  EXPIRED: "Expired",
  CANCELLED: "Cancelled",
  REDIALED: "Redialed",
  ACCEPTED: "Accepted",
};

/** Asks the operator's API with the token that was given. */
export type Ask = <Answer>(path: string, body?: object) => Promise<Answer>;
/** Tells people something, aloud too where the page is read to them. */
export type Say = (words: string) => void;
/** Does something, says what it answers with or what went wrong, and has all that is shown read again. */
export type Attempt = (work: () => Promise<string | undefined>) => void;

/** Which calls are listed. */
export interface Filter {
  /** Empty: calls in every state. */
  state: string;
  agent_id: string;
  provider: string;
  reason: string;
  request_id: string;
  phone_number: string;
}

export function timeText(time: string | null): string {
  if (time === null) return "";
  return new Date(time).toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

export function Time({ at }: { at: string | null }) {
  return at === null ? null : <time dateTime={at}>{timeText(at)}</time>;
}

/** A term and what is said of it. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** What stands in a field of a form. */
export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}
