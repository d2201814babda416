import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const hourMs = 3_600_000;

type Api = ReturnType<typeof createTestApi>;

const post = ({ app }: Api, key: string, agent_id = "agent_sales") =>
  app.request(
    "/v1/calls",
    jsonRequest(
      tokens.crm,
      "POST",
      { phone_number: "+12025550123", agent_id },
      { "idempotency-key": key },
    ),
  );
const find = async ({ app }: Api, key: string) => {
  const response = await app.request(`/v1/requests?idempotency_key=${key}`, {
    headers: { authorization: `Bearer ${tokens.crmDesk}` },
  });
  const { requests }: { requests: { id: string }[] } = await response.json();
  return requests.map(({ id }) => id);
};

it("finds a request by its Idempotency-Key for 24 hours", async () => {
  let hours = 0;
  const api = createTestApi({ now: () => Date.now() + hours * hourMs });
  const id = (await post(api, "a")).headers.get("x-request-id");
  for (const [later, found] of [
    [0, [id]],
    [23.99, [id]],
    [24.01, []],
    [60 * 24, []],
  ] as const) {
    hours = later;
    expect([later, await find(api, "a")]).toEqual([later, found]);
  }
});

it("finds a request by its Idempotency-Key under another HASH_KEY", async () => {
  const { ledger, documents, ...api } = createTestApi();
  const id = (await post({ ledger, documents, ...api }, "a")).headers.get("x-request-id");
  const fresh = "a7".repeat(32);
  for (const HASH_KEY of [`${fresh} ${apiEnvironment.HASH_KEY}`, fresh]) {
    const environment = { ...apiEnvironment, HASH_KEY };
    expect(await find(createTestApi({ environment, ledger, documents }), "a")).toEqual([id]);
  }
});

it("names no request for a key whose request was refused", async () => {
  const api = createTestApi();
  expect((await post(api, "a", "unknown")).status).toBe(422);
  expect(await find(api, "a")).toEqual([]);
});

it("answers the commands of docs/api.md", async () => {
  const docs = await readFile(join(import.meta.dirname, "../../../docs/api.md"), "utf8");
  const { app, ledger, documents } = createTestApi({ now: () => Date.parse("2026-11-21T10:00Z") });
  const acceptedAt = Date.parse("2026-11-21T09:00Z");
  const call = aCall({ acceptedAt, labels: { campaign: "spring-2026" }, first: "request" });
  await writeRows([rowIn("PLACED", call, { at: acceptedAt })], ledger, documents);
  const variables: Record<string, string> = {
    URL: "",
    REQUEST_ID: call.requestId,
    CALL_ID: call.id,
  };
  const commands = [
    ...docs.matchAll(/^curl "(\$URL\/v1\/\S+)" -H "Authorization: Bearer \$TOKEN"$/gm),
  ];
  expect(commands.length).toBeGreaterThanOrEqual(5);
  const answers: string[] = [];
  for (const [, command = ""] of commands) {
    const path = command.replaceAll(/\$(\w+)/g, (_, name: string) => variables[name] ?? "");
    const response = await app.request(path, {
      headers: { authorization: `Bearer ${tokens.crmDesk}` },
    });
    expect([path, response.status]).toEqual([path, 200]);
    answers.push(await response.text());
  }
  expect(answers.filter((text) => text.includes(call.requestId)).length).toBeGreaterThanOrEqual(3);
});
