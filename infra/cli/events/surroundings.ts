import type { Terminal } from "../calls/terminal.ts";

/** The surroundings of the command, replaced in tests. */
export interface Surroundings extends Terminal {
  fetch: typeof fetch;
  /** Current time in milliseconds since the epoch. */
  now(): number;
}
