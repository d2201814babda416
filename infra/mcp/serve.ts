/**
 * `npm run -s mcp`: an MCP server over stdio, by which an assistant reads calls, results and forecasts, and with --write
 * places single calls, through the service at OUTBOUND_CALLS_URL.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { Misuse } from "../cli/calls/failures.ts";
import { printHelp } from "../cli/help.ts";
import { createMcpServer } from "./server.ts";
import { createTools } from "./tools.ts";

printHelp(`npm run mcp -- [--write]

An MCP server over stdio. It reads requests, calls, results and forecasts. An assistant's configuration starts it by
npm run -s mcp, because npm otherwise prints lines of its own: docs/mcp.md.

  --write   offers to place single calls too, each after its forecast; needs both tokens

Environment: OUTBOUND_CALLS_URL, such as https://calls.example.com; OUTBOUND_CALLS_TOKEN, a client's, with the right read;
OUTBOUND_CALLS_OPERATOR_TOKEN, an operator's, of which the role see is enough but for
find_calls_to_number, which needs the role find. One token is enough without --write.`);

try {
  const tools = createTools({
    environment: process.env,
    isWriting: readOptions(),
    fetch,
    sleep,
    now: Date.now,
  });
  serveStdio(() => createMcpServer(tools), {
    onerror: (error) => console.error(`The connection failed: ${error.name}.`),
  });
} catch (error) {
  if (!(error instanceof Misuse)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

function readOptions(): boolean {
  try {
    const { values } = parseArgs({ options: { write: { type: "boolean" } } });
    return values.write === true;
  } catch {
    throw new Misuse("npm run mcp has only the option --write.");
  }
}
