import { createInterface } from "node:readline/promises";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { shownText } from "#shared/lib/shown-text.ts";
import { complain, print } from "../print.ts";
import type { Terminal } from "./terminal.ts";

/** Width of tables where the terminal is not wider. */
const columnsMin = 80;

/** Returns the terminal of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  // The reader of a pipe has gone, as `head` does.
  stdout.on("error", () => process.exit());
  return {
    environment: env,
    fetch,
    print,
    complain,
    isInteractive: stderr.isTTY,
    sleep: (ms) => sleep(ms),
    readInput: () => buffer(stdin),
    isPiped: !stdout.isTTY,
    columns: Math.max(columnsMin, stdout.isTTY ? stdout.columns : columnsMin),
    // A question on a screen needs an answer from a keyboard.
    ...(stdin.isTTY && stderr.isTTY ? { ask: askOnTerminal } : {}),
    ...(stdout.isTTY ? { clear: () => void stdout.write("\u001B[2J\u001B[H") } : {}),
  };
}

async function askOnTerminal(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(shownText(question));
  } finally {
    lines.close();
  }
}
