import { expect, it } from "vitest";
import { toCallId } from "#shared/calls/ids.ts";
import { readPageBlocks } from "../support/doc-commands.ts";
import { jsonRequest } from "../support/json-request.ts";
import { cloudflare } from "../support/platforms.ts";
import { makeStateDirectory, startService, until } from "../support/service.ts";
import { sharedSecret } from "../support/webhook-callbacks.ts";

const blocks = await readPageBlocks("docs/splits.md");
const [plan = ""] = blocks("json");

it("divides calls by the plan of docs/splits.md, as pasted", async () => {
  const directory = await makeStateDirectory();
  const environment = { DIAL_PLAN: plan, WEBHOOK_SECRET: sharedSecret };
  const service = await startService(cloudflare, environment, directory.path);
  try {
    const [, token = ""] = /^Test token: (oc_\w+)/m.exec(service.output()) ?? [];
    const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
    const posted = await fetch(`${service.address}/v1/calls`, jsonRequest(token, "POST", call));
    expect(posted.status).toBe(201);
    const id = posted.headers.get("x-request-id") ?? "";
    let read: unknown;
    const isPlaced = async () => {
      const path = `${service.address}/v1/calls/${toCallId(id, 0)}`;
      read = await (await fetch(path, jsonRequest(token, "GET"))).json();
      return Object(read).state === "PLACED";
    };
    await until(isPlaced, { everyMs: 1000 });
    expect(read).toMatchObject({ split: "agent_sales" });
  } finally {
    await service.end("SIGTERM");
    await directory.remove();
  }
});
