import { execFile } from "node:child_process";
import type { ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { reportResult } from "#docs/examples/report-result.ts";
import { callbackCommand } from "#infra/generate/callbacks.ts";
import { callbackAddress } from "#shared/settings/callback-url.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, webhookSecret } from "#test/support/environment.ts";
import { type Received, startReceiver } from "#test/support/receiver.ts";

const page = await readFile("docs/results.md", "utf8");
const blockOf = (language: string, beginning: string) => {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))];
  const found = blocks.find(([, text = ""]) => text.startsWith(beginning))?.[1];
  if (found === undefined) throw new Error(`docs/results.md has no ${language} of ${beginning}`);
  return found;
};
const call = { id: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000", claim: "0123456789abcdef0123" };

describe("the examples of docs/results.md", () => {
  let api: ReturnType<typeof createTestApi>;
  let server: Awaited<ReturnType<typeof startReceiver>>;
  let url: string;
  async function answer(received: Received, response: ServerResponse): Promise<void> {
    const { method, path, headers, text: body } = received;
    const given = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const init = { method, headers: Object.fromEntries(given), body };
    const answered = await api.app.request(path, init);
    response.writeHead(answered.status).end(await answered.text());
  }
  beforeAll(async () => {
    server = await startReceiver((received, response) => void answer(received, response));
    const { HASH_KEY: hashKey } = apiEnvironment;
    url = callbackAddress(server.url, { account: "webhook", call, hashKey });
  });
  beforeEach(() => (api = createTestApi()));
  afterAll(() => server.close());
  const told = async () => {
    const [message] = api.eventsQueue.take();
    return Object(JSON.parse((await message?.open()) ?? "{}")).signed?.body;
  };
  const run = async (secret: string) => {
    const bin = dirname(process.execPath);
    const own = { CALL_ID: call.id, CALLBACK_URL: url, WEBHOOK_SECRET: secret };
    const env = { PATH: `${bin}:${process.env["PATH"]}`, ...own };
    const command = blockOf("sh", "export TIME");
    return (await promisify(execFile)("sh", ["-c", command], { env })).stdout;
  };

  it("tell a result from a shell, as pasted, and what is wrong with it", async () => {
    expect(blockOf("sh", "export TIME").trimEnd()).toBe(callbackCommand);
    expect(await run(webhookSecret)).toMatch(/^HTTP\/1.1 204 /);
    expect(await told()).toBe('{"status": "completed", "seconds": 72}');
    const refused = await run(`whsec_${"A".repeat(44)}`);
    expect(refused).toMatch(/^HTTP\/1.1 401 [^]*"header":"webhook-signature"/);
  });

  it("report a result in TypeScript", async () => {
    const posted = { id: call.id, callback_url: url };
    const response = await reportResult(posted, webhookSecret, { status: "busy" });
    expect([response.status, await told()]).toEqual([204, '{"status":"busy"}']);
  });
});
