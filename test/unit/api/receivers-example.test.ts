import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { listReceivers, putReceiver } from "#functions/api/requests/receivers.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { type Received } from "#test/support/receiver.ts";

it("takes the commands of docs/events.md for own receivers, and answers as the page says", async () => {
  const docs = await readFile("docs/events.md", "utf8");
  const [, section = ""] = docs.split("## Receivers of your own");
  const [, commands = ""] = /```sh\n([^`]+)```/.exec(section) ?? [];
  const [, example = ""] = /```json\n([^`]+)```/.exec(section) ?? [];
  const { app, eventsQueue } = createTestApi();
  const answers: [string, number][] = [];
  const bodies: Record<string, unknown>[] = [];
  const answerTo = async (
    { method, path, headers, text }: Received,
    response: ServerResponse,
  ): Promise<void> => {
    const given = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const init = { method, headers: Object.fromEntries(given) };
    const answer = await app.request(path, text === "" ? init : { ...init, body: text });
    answers.push([`${method} ${path.replace(/\?.*/, "")}`, answer.status]);
    const body = await answer.text();
    bodies.push(JSON.parse(body));
    response.writeHead(answer.status).end(body);
  };
  const server = await startTestReceiver((request, response) => void answerTo(request, response));
  const env = { ...process.env, URL: server.url, TOKEN: tokens.crmEvents };
  await promisify(execFile)("sh", ["-ec", commands], { env });
  expect(answers).toEqual([
    ["PUT /v1/receivers/main", 200],
    ["GET /v1/receivers", 200],
    ["POST /v1/receivers/main/test", 202],
    ["GET /v1/receivers/main/deliveries", 200],
    ["POST /v1/receivers/main/rotate-secret", 200],
    ["POST /v1/receivers/main/replay", 202],
    ["DELETE /v1/receivers/main", 200],
  ]);
  expect(eventsQueue.take()).toHaveLength(1);
  const shown: Record<string, unknown> = JSON.parse(example);
  const times = { created_at: expect.any(String), secret: expect.stringMatching(/^whsec_/) };
  expect(bodies[0]).toEqual({ ...shown, ...times });
  expect(putReceiver.answer.parse(bodies[0])).toEqual(bodies[0]);
  expect(listReceivers.answer.parse(bodies[1])).toEqual(bodies[1]);
});
