import { type ComponentChildren } from "preact";
import type { CallStory, CallView } from "../operator/call-view.ts";

/** The states of a call, in display order. */
export const states: readonly CallView["state"][] = [
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
export const names: Record<CallStory["history"][number]["state"], string> = {
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

/** Sends a request to the operator's API with the operator's token. */
export type Ask = <Answer>(path: string, body?: object) => Promise<Answer>;
/** Shows a message to people, and announces it to screen readers. */
export type Say = (words: string) => void;
/** Performs an action, shows its answer or its error, and reloads all data shown. */
export type Attempt = (work: () => Promise<string | undefined>) => void;

/** The filter of the list of calls. */
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

/** A term and its description. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Returns the text of a form's field. */
export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}
