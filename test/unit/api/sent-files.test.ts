import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { dayMs, hourMs } from "#shared/lib/units.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { StoredText } from "#shared/ports/document-kinds.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const file = {
  file: sha256("file"),
  campaign: "spring",
  parts: [{ digest: sha256("part"), calls: 2 }],
};
const step = { file: file.file, round: 1, index: 0 };
const begun = { ...step, state: "begun", content: sha256("body"), attempt: "one" };

/** Creates an API whose clock the test sets, and that may start anew under another HASH_KEY. */
function createBench() {
  let now = Date.parse("2026-11-24T09:00:00Z");
  const stored = new Map<string, StoredText>();
  const documents = createMemoryDocuments(
    () => now,
    () => randomVersion(),
    stored,
  );
  const start = (HASH_KEY = apiEnvironment.HASH_KEY) =>
    createTestApi({ environment: { ...apiEnvironment, HASH_KEY }, documents, now: () => now }).app;
  let app = start();
  return {
    stored,
    pass: (ms: number) => (now += ms),
    restart: (hashKey: string) => (app = start(hashKey)),
    async ask(path: string, body: unknown) {
      const response = await app.request(
        `/v1/sent-files${path}`,
        jsonRequest(tokens.crm, "POST", body),
      );
      return { status: response.status, body: JSON.parse(await response.text()) };
    },
  };
}

describe("a part whose answer was lost", () => {
  it("is repeated under its key as long as the key certainly lives, and later not blindly", async () => {
    const { ask, pass } = createBench();
    await ask("", file);
    await ask("/parts", begun);
    pass(23 * hourMs);
    expect((await ask("/parts", begun)).body).toMatchObject({ state: "begun" });
    pass(1);
    expect((await ask("", file)).status).toBe(200);
    const refused = await ask("/parts", begun);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringMatching(/^Part 1 was begun at 2026-11-24T09:00:00.000Z, .*say whether it was/),
    ]);
  });

  it("continues as a person decides: accepted, or not accepted", async () => {
    const { ask, pass } = createBench();
    await ask("", file);
    await ask("/parts", begun);
    pass(2 * dayMs);
    expect((await ask("/parts", { ...step, state: "planned" })).body).toMatchObject({
      state: "planned",
      begun_at: null,
    });
    expect((await ask("/parts", begun)).body.begun_at).toBe("2026-11-26T09:00:00.000Z");
    pass(2 * dayMs);
    expect((await ask("/parts", { ...step, state: "sent" })).body.state).toBe("sent");
    expect((await ask("", file)).status).toBe(409);
  });
});

it("remembers a file through a rotation of HASH_KEY, and as long as calls are kept", async () => {
  const { ask, pass, restart } = createBench();
  const first = await ask("", file);
  await ask("/parts", begun);
  restart(`${"6a".repeat(32)} ${apiEnvironment.HASH_KEY}`);
  expect((await ask("", file)).body.parts[0].idempotency_key).toBe(
    first.body.parts[0].idempotency_key,
  );
  expect((await ask("/parts", begun)).status).toBe(200);
  await ask("/parts", { ...step, state: "sent" });
  pass(60 * dayMs - 1);
  expect((await ask("", file)).status).toBe(409);
  pass(1);
  expect((await ask("/find", { file: file.file })).body.sent).toBeNull();
});

it("stores no hash that a client has sent, as a number could be found by trying", async () => {
  const { ask, stored } = createBench();
  await ask("", file);
  await ask("/parts", begun);
  const all = JSON.stringify([...stored]);
  expect(all).toContain("sent-file");
  for (const sent of [file.file, file.parts[0]?.digest, begun.content]) {
    expect(all).not.toContain(sent);
  }
});

it("remembers a round that began during a rotation of HASH_KEY beyond the former key's end", async () => {
  const { ask, pass, restart } = createBench();
  await ask("", file);
  await ask("/parts", { ...step, state: "sent" });
  const key = "6a".repeat(32);
  restart(`${key} ${apiEnvironment.HASH_KEY}`);
  pass(30 * dayMs);
  expect((await ask("", { ...file, again: 1 })).body).toMatchObject({ round: 2 });
  expect((await ask("/parts", { ...step, round: 2, state: "sent" })).body.state).toBe("sent");
  restart(key);
  pass(40 * dayMs);
  expect((await ask("", file)).body.detail).toContain("This file was sent at 2026-12-24");
});
