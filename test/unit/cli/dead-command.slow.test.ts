import { listDocuments } from "#test/support/reads.ts";
import { describe, expect, it } from "vitest";
import { toJson } from "#shared/ports/call-messages.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { message } from "#test/support/dialer-calls.ts";
import { runCalls } from "#test/support/run-calls.ts";

/** Creates the command with a service in memory, and dead letters of these calls. */
function createBench(count: number) {
  const letters = new Map<string, string>();
  const api = createTestApi({ letters });
  const calls = Array.from({ length: count }, () => aCall());
  for (const [n, call] of calls.entries()) {
    letters.set(`calls-${String(n).padStart(3, "0")}`, toJson(message(call)));
  }
  const command = (words: string) => runCalls(words.split(" "), api);
  return { ...api, letters, calls, command };
}

describe("npm run calls -- dead", () => {
  it("lists as many letters as asked for, page after page", async () => {
    const { command } = createBench(420);
    expect((await command("dead list --json")).out.split("\n")).toHaveLength(50);
    const all = (await command("dead list --json --limit 1000")).out.split("\n");
    expect(new Set(all).size).toBe(420);
    const csv = (await command("dead list --csv --limit 1")).out.split("\n");
    expect(csv[0]).toBe("name,queue,stored_at,bytes");
    expect(csv[1]).toMatch(/^calls-000,calls,20.*Z,\d+$/);
  });

  it("lists all letters though the store's pages are shorter than asked for", async () => {
    const { command, deps } = createBench(10);
    const { list } = deps.deadLetters;
    deps.deadLetters.list = (query) => list({ ...query, limit: Math.min(3, query.limit) });
    expect((await command("dead list --json")).out.split("\n")).toHaveLength(10);
  });

  it("shows a letter, and its number only with --reveal", async () => {
    const { command, calls, letters, documents } = createBench(1);
    letters.set("calls-later", '{"kind":"later"}');
    const { phone_number = "" } = calls[0]?.request ?? {};
    const shown = await command("dead show calls-000");
    expect(shown.out).toContain(calls[0]?.requestId);
    expect(shown.out).not.toContain(phone_number);
    expect(await listDocuments(documents, "audit", { limit: 9 })).toEqual([]);
    expect((await command("dead show calls-000 --reveal --json")).out).toContain(phone_number);
    expect(await listDocuments(documents, "audit", { limit: 9 })).toMatchObject([
      { value: { action: "reveal", target: "calls-000" } },
    ]);
    expect((await command("dead show calls-later")).out).toContain("a later version");
    expect(await command("dead show calls-none")).toMatchObject({ code: 2 });
  });

  it("puts letters back by their names, or all of them", async () => {
    const { command, letters, queue } = createBench(205);
    expect((await command("dead put-back calls-003 calls-none")).code).toBe(2);
    expect(queue.take()).toHaveLength(1);
    expect(await command("dead put-back --all")).toMatchObject({
      code: 0,
      out: "204 done, 0 refused.",
    });
    expect(letters.size).toBe(0);
    expect(queue.take()).toHaveLength(204);
    expect(await command("dead put-back --all")).toMatchObject({ code: 0, out: "None." });
  });

  it("discards letters by their names, with --yes", async () => {
    const { command, letters, queue, documents } = createBench(3);
    const refused = await command("dead discard calls-000");
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("--yes");
    expect(letters.size).toBe(3);
    expect(await command("dead discard calls-000 calls-002 calls-none --yes")).toMatchObject({
      code: 2,
      out: "2 done, 1 refused.",
    });
    expect([...letters.keys()]).toEqual(["calls-001"]);
    expect(queue.take()).toEqual([]);
    const recorded = await listDocuments(documents, "audit", { limit: 9 });
    const entries = recorded.map(({ value: { action, target, count } }) =>
      [action, target, count].join(" "),
    );
    expect(new Set(entries)).toEqual(new Set(["discard calls-000 1", "discard calls-002 1"]));
  });

  it("keeps a letter whose discarding cannot be recorded", async () => {
    const { command, letters, documents } = createBench(1);
    documents.write = () => Promise.reject(new Error("the ledger is down"));
    expect((await command("dead discard calls-000 --yes")).code).toBe(1);
    expect(letters.size).toBe(1);
  });

  it("says what it needs", async () => {
    const { command } = createBench(0);
    for (const words of [
      "dead",
      "dead bury",
      "dead show",
      "dead put-back",
      "dead put-back x --all",
      "dead discard",
      "dead discard --yes",
    ]) {
      expect(await command(words)).toMatchObject({ code: 2, out: "" });
    }
  });
});

describe("a dead letter that is put back", () => {
  it("stays where the queue does not confirm its message", async () => {
    const { deps, letters, command, events } = createBench(1);
    deps.queue.send = () => Promise.reject(new Error("SQS is down"));
    expect((await command("dead put-back calls-000")).code).toBe(1);
    expect(letters.size).toBe(1);
    expect(events.at(-1)).toMatchObject({ level: "alarm", event: "queue.unreachable" });
  });

  it("stays where it cannot be removed, though its message was sent", async () => {
    const { deps, letters, command, queue, events } = createBench(1);
    const { remove } = deps.deadLetters;
    deps.deadLetters.remove = () => Promise.reject(new Error("S3 is down"));
    expect((await command("dead put-back calls-000")).err).toContain("object store");
    expect([letters.size, queue.take().length]).toEqual([1, 1]);
    expect(events.at(-1)).toMatchObject({ level: "alarm", event: "store.unreachable" });
    deps.deadLetters.remove = remove;
    expect((await command("dead put-back calls-000")).code).toBe(0);
    expect([letters.size, queue.take().length]).toEqual([0, 1]);
  });
});
