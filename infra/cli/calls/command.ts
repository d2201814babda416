import type { Client } from "./client.ts";
import type { Values } from "./options.ts";
import type { Terminal } from "./terminal.ts";

/** The operator's API, and the terminal that shows its answers. */
export interface CommandDeps {
  ask: Client;
  terminal: Terminal;
}

/** Performs one command on the words that follow its name, and resolves to its exit code. */
export type Command = (rest: string[], values: Values, deps: CommandDeps) => Promise<number>;
