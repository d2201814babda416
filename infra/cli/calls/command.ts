import type { Client } from "./client.ts";
import type { Values } from "./options.ts";
import type { Terminal } from "./terminal.ts";

/** Performs one command on the words that follow its name, and resolves to its exit code. */
export type Command = (
  rest: string[],
  values: Values,
  ask: Client,
  terminal: Terminal,
) => Promise<number>;
