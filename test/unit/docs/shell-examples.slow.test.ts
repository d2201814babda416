import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, requireArgs } from "#infra/cli/calls/options.ts";
import { commands } from "#infra/cli/calls.ts";
import { createRequestId, toCallId, withCalls } from "#shared/calls/ids.ts";
import { randomId } from "#shared/lib/random.ts";
import { tokenRights } from "#shared/settings/tokens.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { type ConsoleServer, startConsoleServer } from "#test/support/console-server.ts";
import { readDocCommands, wordsOf } from "#test/support/doc-commands.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";

const blocks = await readDocCommands();
/** Blocks of requests to the reader's own service. */
const requests = blocks.filter(({ text }) => /^curl .*"\$URL\//m.test(text));

const calls = 20;
const at = Date.now() - 1000;
const requestId = withCalls(createRequestId(at, randomId()), calls);
const token = "oc_docs00000000000000000000000000";
const entry = {
  id: "docs",
  client: "docs",
  sha256: createHash("sha256").update(token).digest("hex"),
  rights: tokenRights,
};
const api = createTestApi({
  environment: { ...apiEnvironment, API_TOKENS: JSON.stringify([entry]) },
});
let server: ConsoleServer;
beforeAll(async () => {
  server = await startConsoleServer(api);
  const rows = Array.from({ length: calls }, (_, index) => {
    const of = { client: "docs", requestId, batchCalls: calls, acceptedAt: at };
    const first = index === 0 ? { first: "request" as const } : {};
    return rowIn("WAITING", aCall({ ...of, ...first, id: toCallId(requestId, index) }));
  });
  await writeRows(rows, api.ledger, api.documents);
});
afterAll(() => server.stop());

describe("the commands in the docs", () => {
  it("are found", () => {
    expect(requests.length).toBeGreaterThanOrEqual(4);
    expect(blocks.flatMap((block) => wordsOf(block, "calls")).length).toBeGreaterThan(20);
  });

  it.each(requests)("are answered 2xx by a service, in $page: $text", async ({ text }) => {
    const env = {
      PATH: process.env["PATH"],
      URL: server.address,
      TOKEN: token,
      OPERATOR_TOKEN: tokens.operator,
      REQUEST_ID: requestId,
      CALL_ID: toCallId(requestId, 0),
    };
    // The status of each request stands on a line of its own.
    const status = `curl() { command curl -sS -m 20 -o /dev/null -w '%{http_code}\\n' "$@"; }`;
    const { stdout } = await promisify(execFile)("sh", ["-c", `${status}\n${text}`], { env });
    const count = [...text.matchAll(/^curl /gm)].length;
    expect(stdout.trim().split("\n")).toEqual(
      Array.from({ length: count }, () => expect.stringMatching(/^2\d\d$/)),
    );
  });

  const lines = blocks.flatMap((block) =>
    wordsOf(block, "calls").map((words) => ({ page: block.page, words: words.join(" ") })),
  );
  it.each(lines)("are those of npm run calls, in $page: $words", ({ words }) => {
    const { positionals } = parse(words.split(" "));
    const [command = "", ...rest] = positionals;
    expect(Object.keys(commands)).toContain(command);
    requireArgs(command, rest);
  });
});
