/** An engine as the race sees it. */
import type { Gate } from "./gate.ts";

/** Ids of calls that have not ended well, as `accept` has returned them. */
export interface EngineState {
  /** Calls that the engine still means to dial, or is dialing. */
  open: string[];
  /** Calls that it has given up, where a person finds them: failed jobs, or NEEDS_REVIEW. */
  left: string[];
}

export interface RunningEngine {
  /** Posts one call. Resolves to the call's id, or to undefined where it was not accepted. */
  accept(call: object): Promise<string | undefined>;
  /**
   * Kills the process that dials with SIGKILL and starts it again. An engine that loses its queue with that
   * process closes the gate of the posts first, until it may be killed.
   */
  kill(gate: Gate): Promise<void>;
  state(): Promise<EngineState>;
  /** Processes whose CPU and memory count, with all of their children. */
  roots(): { engine: number[]; database: number[] };
  stop(): Promise<void>;
}

export interface Engine {
  name: string;
  /** Files that somebody writes to use it, in `engines/`. */
  code: string[];
  /** Returns why it cannot run on this machine, or undefined. */
  absent?(): string | undefined;
  start(providerUrl: string): Promise<RunningEngine>;
}
