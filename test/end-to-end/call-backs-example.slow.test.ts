import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { readPageBlocks } from "../support/doc-commands.ts";
import { jsonRequest } from "../support/json-request.ts";
import { cloudflare } from "../support/platforms.ts";
import { sharedSecret } from "../support/webhook-callbacks.ts";
import { makeStateDirectory, startService, until } from "../support/service.ts";

const blocks = await readPageBlocks("docs/call-backs.md");
const [plan = ""] = blocks("json");
const [cancel = "", post = ""] = blocks("sh");

it("promises the call-back of docs/call-backs.md, and cancels it, as pasted", async () => {
  const directory = await makeStateDirectory();
  const environment = { DIAL_PLAN: plan, WEBHOOK_SECRET: sharedSecret };
  const service = await startService(cloudflare, environment, directory.path);
  try {
    const [, token = ""] = /^Test token: (oc_\w+)/m.exec(service.output()) ?? [];
    const run = async (pasted: string, more: Record<string, string> = {}) => {
      const command = pasted.replaceAll("http://127.0.0.1:8787", service.address);
      const env = { ...process.env, TOKEN: token, ...more };
      return (await promisify(execFile)("sh", ["-c", command], { env })).stdout;
    };
    const answer = await run(post);
    expect(answer).toMatch(/^HTTP\/1.1 201 Created/);
    const [, id = ""] = /^x-request-id: (\w+)/im.exec(answer) ?? [];
    const read = async () => {
      const response = await fetch(
        `${service.address}/v1/requests/${id}`,
        jsonRequest(token, "GET"),
      );
      const { calls: [call] = [] } = Object(await response.json());
      return Object(call).call_back;
    };
    let promise: unknown;
    await until(async () => (promise = await read()) !== undefined, { everyMs: 1000 });
    expect(promise).toMatchObject({ by: "service", reason: null });
    const own = { URL: service.address, CALL_ID: String(Object(promise).call_id) };
    expect(JSON.parse(await run(cancel, own))).toMatchObject({ state: "CANCELLED" });
  } finally {
    await service.end("SIGTERM");
    await directory.remove();
  }
});
