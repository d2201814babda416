import { describe, expect, it } from "vitest";
import type { CallState } from "#shared/calls/states.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { requireReview } from "#shared/calls/transitions.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn, writeRows } from "#test/support/rows.ts";
import { runCalls } from "#test/support/run-calls.ts";

async function createFilledApi(state: CallState, count: number) {
  const api = createTestApi();
  const acceptedAt = Date.now() - 60_000;
  const rows = Array.from({ length: count }, () =>
    rowIn(state, aCall({ acceptedAt, first: "request" }), { at: acceptedAt }),
  );
  await writeRows(rows, api.ledger, api.documents);
  const bulk = (words: string) => runCalls(["bulk", ...words.split(" ")], api);
  const inState = async (one: CallState) =>
    (await api.ledger.list({ state: one, limit: 1000 })).rows.length;
  return { api, bulk, inState };
}

/** Returns an API whose one call of unknown outcome must be reviewed once it has answered. */
async function createReviewingApi(count: number) {
  const { api, inState } = await createFilledApi("NEEDS_REVIEW", count);
  const at = Date.now() - 60_000;
  const unknown = rowIn("UNKNOWN", aCall({ acceptedAt: at, first: "request" }), { at });
  await writeRows([unknown], api.ledger, api.documents);
  const ask = api.app.request.bind(api.app);
  const app: Pick<typeof api.app, "request"> = {
    async request(path, init) {
      const answer = await ask(path, init);
      const next = requireReview(unknown, 0, { version: randomVersion(), at: Date.now() });
      // Later writes are refused: the row has another version by then.
      if (next !== undefined) await api.ledger.write([{ next, seen: unknown.version }]);
      return answer;
    },
  };
  return { app, queue: api.queue, inState, unknown };
}

describe("npm run calls -- bulk", () => {
  it("counts first, and acts only if it is agreed to", async () => {
    const { bulk, inState } = await createFilledApi("WAITING", 130);
    const counted = await bulk("cancel --agent agent_sales");
    expect(counted).toEqual({
      code: 2,
      out: "",
      err: expect.stringMatching(/^This cancels 130 calls, for good\. Nothing was done: add --yes/),
    });
    expect((await bulk("cancel --client crm --dry-run --json")).out).toMatch(
      /^\{"dry_run":true,"found":130,/,
    );
    expect(await inState("WAITING")).toBe(130);
    const done = await bulk("cancel --agent agent_sales --yes");
    expect([done.code, done.out]).toEqual([0, "130 done, 0 refused."]);
    expect(await inState("CANCELLED")).toBe(130);
    expect((await bulk("cancel --agent agent_sales --yes")).out).toBe("0 calls match.");
  });

  it("redials what needs review only with the word for it, and again where the queue failed", async () => {
    const { api, bulk } = await createFilledApi("NEEDS_REVIEW", 60);
    const unsure = await bulk("redial --state NEEDS_REVIEW --yes");
    expect([unsure.code, unsure.err]).toEqual([2, expect.stringContaining("would be made twice")]);
    const send = api.queue.send.bind(api.queue);
    let failures = 15;
    api.queue.send = async (message) => {
      if (failures-- > 0) throw new Error("down");
      await send(message);
    };
    const sure = await bulk("redial --state NEEDS_REVIEW --not-placed --yes");
    expect([sure.code, sure.out]).toEqual([0, "60 done, 0 refused."]);
    expect(sure.err).toMatch(/Trying again in 5 s/);
    const sent = await Promise.all(api.queue.take().map(({ open }) => open()));
    expect(new Set(sent).size).toBe(60);
  });

  it("leaves a call that must be reviewed only after the others were counted", async () => {
    const { app, queue, inState } = await createReviewingApi(3);
    const words = ["bulk", "redial", "--state", "NEEDS_REVIEW", "--not-placed", "--yes"];
    const { code, out } = await runCalls(words, { app });
    expect([code, out]).toEqual([0, "3 done, 0 refused."]);
    expect([await inState("REDIALED"), await inState("NEEDS_REVIEW")]).toEqual([3, 1]);
    expect(queue.take()).toHaveLength(3);
  });

  it("refuses an empty filter and an unknown action", async () => {
    const { bulk } = await createFilledApi("WAITING", 1);
    expect((await bulk("cancel")).err).toContain("would mean every call");
    expect((await bulk("delete --agent a")).err).toMatch(/^bulk is followed by cancel/);
  });
});

describe("npm run calls -- redial and resolve", () => {
  it.each([
    ["redial", "--not-placed"],
    ["resolve", "--placed"],
  ])(
    "%s leaves a call of a request that must be reviewed only since it was listed",
    async (name, word) => {
      const { app, queue, inState, unknown } = await createReviewingApi(0);
      const request = requestIdOf(unknown.id);
      const { code, err } = await runCalls([name, "--request", request, word, "--yes"], { app });
      expect([code, err]).toEqual([2, expect.stringContaining("changed")]);
      expect(await inState("NEEDS_REVIEW")).toBe(1);
      expect(queue.take()).toEqual([]);
    },
  );
});
