import { randomBytes } from "node:crypto";
import { beforeEach, expect, it } from "vitest";
import { createRequestMessage, toJson } from "#shared/ports/call-messages.ts";
import { tokens } from "#test/support/environment.ts";
import type { OperatorApiBench } from "./setup.ts";

/** Describes what operators do with dead letters in the object store. */
export function itPutsDeadLettersBack(api: OperatorApiBench): void {
  const { ask } = api;
  let name: string;
  let body: string;
  beforeEach(async () => {
    for (const one of (await api.deadLetters.list({ limit: 1_000 })).letters) {
      await api.deadLetters.remove(one.name);
    }
    name = `calls-${randomBytes(16).toString("hex")}`;
    const request = { phone_number: "+13035550177", agent_id: api.agent, context: { name: "Zoë" } };
    const accepted = { requestId: api.requestId, client: "crm", acceptedAt: 1_700_000_000_000 };
    body = toJson(
      createRequestMessage(accepted, { text: JSON.stringify(request), isBatch: false }),
    );
  });
  const actions = async () =>
    (await ask("/audit?limit=200")).body.entries
      .filter(({ target }) => target === name)
      .map(({ action, by }) => [action, by]);

  it("lists dead letters page by page, and shows one without its number and context", async () => {
    await api.deadLetters.store(name, body);
    await api.deadLetters.store("events-1", "no JSON");
    const first = (await ask("/dead-letters?limit=1")).body;
    expect(first.dead_letters).toMatchObject([{ name, queue: "calls" }]);
    const second = (await ask(`/dead-letters?limit=1&cursor=${first.cursor}`)).body;
    expect(second.dead_letters).toMatchObject([{ name: "events-1", queue: "events" }]);
    const shown = (await ask(`/dead-letters/${name}`)).body;
    expect(shown).toMatchObject({
      message_kind: "calls",
      request_id: api.requestId,
      client: "crm",
      accepted_at: "2023-11-14T22:13:20.000Z",
      calls: 1,
      call_id: null,
    });
    expect((await ask("/dead-letters/events-1")).body).toMatchObject({ message_kind: null });
    expect(JSON.stringify([first, second, shown])).not.toMatch(/303555|Zo/);
    expect(await actions()).toEqual([]);
  });

  it("reveals a dead letter, which is recorded", async () => {
    await api.deadLetters.store(name, body);
    expect((await ask(`/dead-letters/${name}/reveal`, {})).body).toEqual({ body });
    expect(await actions()).toEqual([["reveal", "operator"]]);
  });

  it("reveals a long dead letter in parts, each of which fits in an answer of Lambda", async () => {
    const long = `${'"é'.repeat(400 * 1024)}end`;
    await api.deadLetters.store(name, long);
    const first = (await ask(`/dead-letters/${name}/reveal`, {})).body;
    const second = (await ask(`/dead-letters/${name}/reveal?from=${first.next}`, {})).body;
    expect([first.body, second.body].join("")).toBe(long);
    expect(second.next).toBeUndefined();
    expect((await ask(`/dead-letters/${name}/reveal?from=-1`, {})).status).toBe(422);
  });

  it("puts a dead letter back onto its queue, once, which is recorded", async () => {
    await api.queued(0);
    await api.queuedEvents(0);
    const poll = { kind: "poll", account: "vapi", sentAt: 1 };
    await api.deadLetters.store(name, body);
    await api.deadLetters.store("events-1", JSON.stringify(poll));
    const { status, body: put } = await ask(`/dead-letters/${name}/put-back`, {});
    expect([status, put]).toMatchObject([200, { name, request_id: api.requestId }]);
    expect(await api.queued(1)).toMatchObject([
      { kind: "calls", requestId: api.requestId, calls: [{ index: 0 }] },
    ]);
    expect((await ask("/dead-letters/events-1/put-back", {})).status).toBe(200);
    expect(await api.queuedEvents(1)).toEqual([poll]);
    expect((await ask("/dead-letters")).body.dead_letters).toEqual([]);
    expect((await ask(`/dead-letters/${name}/put-back`, {})).status).toBe(404);
    expect(await api.queued(0)).toEqual([]);
    expect(await actions()).toEqual([["put_back", "operator"]]);
  });

  it("discards a dead letter, once, which is recorded", async () => {
    await api.queued(0);
    await api.deadLetters.store(name, body);
    const { status, body: discarded } = await ask(`/dead-letters/${name}/discard`, {});
    expect([status, discarded]).toMatchObject([200, { name, request_id: api.requestId, calls: 1 }]);
    expect((await ask("/dead-letters")).body.dead_letters).toEqual([]);
    expect((await ask(`/dead-letters/${name}/discard`, {})).status).toBe(404);
    expect(await api.queued(0)).toEqual([]);
    expect(await actions()).toEqual([["discard", "operator"]]);
  });

  it("knows no dead letter of another name", async () => {
    for (const path of ["calls-none", "epoch", "calls-..%2Fepoch%2F1"]) {
      expect((await ask(`/dead-letters/${path}`)).status).toBe(404);
      expect((await ask(`/dead-letters/${path}/put-back`, {})).status).toBe(404);
      expect((await ask(`/dead-letters/${path}/discard`, {})).status).toBe(404);
      expect((await ask(`/dead-letters/${path}/reveal`, {})).status).toBe(404);
    }
    expect((await ask("/dead-letters?cursor=..%2Fepoch")).status).toBe(422);
    expect((await ask(`/dead-letters/${name}`, undefined, tokens.crm)).status).toBe(401);
  });
}
