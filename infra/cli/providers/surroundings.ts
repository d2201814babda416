/** The surroundings of the command, replaced in tests. */
export interface Surroundings {
  environment: Record<string, string | undefined>;
  fetch: typeof fetch;
  /** Current time in milliseconds since the epoch. */
  now(): number;
  pause(seconds: number): Promise<void>;
  /** Prints a line to stdout. */
  print(line: string): void;
  /** Prints a line to stderr. */
  complain(line: string): void;
  /** Asks a person a question of yes or no. Undefined if nobody is there to answer. */
  confirm(question: string): Promise<boolean | undefined>;
}
