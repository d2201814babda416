/** A row of the sandbox's table: how a call to a number ends, and the events of it. */
export interface SandboxRow {
  /** The last two digits of the number. */
  digits: string;
  state: string;
  reason: string;
  /** Status of the result. Empty: there is none. */
  result: string;
  events: string[];
}

const placed = (digits: string, result: string, isAnswered = false): SandboxRow => ({
  digits,
  state: "PLACED",
  reason: "placed",
  result,
  events: ["call.placed", ...(isAnswered ? ["call.answered"] : []), "call.ended"],
});
const review = { state: "NEEDS_REVIEW", reason: "outcome_unknown", result: "" };

/** The promises of docs/sandbox.md, in their order. The last row stands for all other numbers. */
export const sandboxTable: readonly SandboxRow[] = [
  placed("00", "completed", true),
  placed("01", "voicemail", true),
  placed("02", "busy"),
  placed("03", "no_answer"),
  placed("04", "declined"),
  placed("05", "invalid"),
  placed("06", "blocked"),
  { digits: "07", state: "REJECTED", reason: "http_422", result: "", events: ["call.rejected"] },
  placed("08", "completed", true),
  { ...placed("09", "completed", true), reason: "found" },
  { digits: "10", ...review, events: ["call.needs_review"] },
  { digits: "11", ...review, events: ["call.needs_review"] },
  {
    ...placed("12", "completed"),
    events: ["call.placed", "call.opt_out", "call.answered", "call.ended"],
  },
  placed("13", "unknown"),
  placed("14", "completed", true),
  placed("99", "completed", true),
];
