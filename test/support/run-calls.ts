import { run } from "#infra/cli/calls.ts";
import type { createApp } from "#functions/api/app.ts";
import { tokens } from "./environment.ts";

const url = "https://calls.example.com";

/** Runs `npm run calls` with an operator's token against an API in memory. */
export async function runCalls(
  words: string[],
  {
    app,
    sleep,
    environment = {},
    isPiped = false,
    columns,
  }: {
    app: Pick<ReturnType<typeof createApp>, "request">;
    sleep?: (ms: number) => Promise<void>;
    environment?: Record<string, string>;
    isPiped?: boolean;
    /** Width of the terminal. Absent, tables are as wide as they need. */
    columns?: number;
  },
): Promise<{ code: number; out: string; err: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(words, {
    environment: {
      OUTBOUND_CALLS_URL: url,
      OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.operator,
      ...environment,
    },
    fetch: async (address, init) => app.request(address.replace(url, ""), init),
    print: (line) => out.push(line),
    complain: (line) => err.push(line),
    isInteractive: false,
    isPiped,
    columns,
    sleep: sleep ?? (async () => undefined),
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}
