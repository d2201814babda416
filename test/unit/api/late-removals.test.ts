import { describe, expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Creates the API over documents whose removals may be held back, as by a store that answers too late. */
function createBench() {
  const { deps, documents } = createTestApi();
  const late: (() => Promise<void>)[] = [];
  const ask = async (path: string, body: object) => {
    const response = await createApp(deps).request(
      `/operator${path}`,
      jsonRequest(tokens.operator, "POST", body),
    );
    return { status: response.status, text: await response.text() };
  };
  const replace = (methods: Partial<Documents>) => {
    deps.documents = { ...documents, ...methods };
  };
  return {
    ask,
    replace,
    documents,
    /** Has the next removals fail, and take effect once `land` is called. */
    holdBack() {
      replace({
        remove: async (removals) => {
          late.push(() => documents.remove(removals));
          throw new Error("no answer in time");
        },
      });
    },
    async land() {
      for (const remove of late.splice(0)) await remove();
    },
    heal: () => replace({}),
  };
}

const number = "+13035550007";
const isPaused = async (documents: Documents) =>
  (await documents.list("pause", { limit: 9 })).length === 1;

/** An order that is put back: the request that gives it, the one that removes it, and whether it stands. */
interface Order {
  name: string;
  put: [path: string, body: object];
  remove: [path: string, body: object];
  stands(bench: ReturnType<typeof createBench>): Promise<boolean>;
}
const orders: readonly Order[] = [
  {
    name: "a pause of an agent",
    put: ["/pause", { agent_id: "agent_sales" }],
    remove: ["/resume", { agent_id: "agent_sales" }],
    stands: ({ documents }) => isPaused(documents),
  },
  {
    name: "a pause of an account",
    put: ["/pause", { account: "webhook" }],
    remove: ["/resume", { account: "webhook" }],
    stands: ({ documents }) => isPaused(documents),
  },
  {
    name: "a number on the do-not-call list",
    put: ["/do-not-call", { add: [number] }],
    remove: ["/do-not-call", { remove: [number] }],
    stands: async ({ ask }) =>
      (await ask("/do-not-call/check", { phone_number: number })).text === '{"listed":true}',
  },
];

describe.each(orders)("$name", ({ put, remove, stands }) => {
  it("stands once it is put back, though an earlier removal lands later", inSlowTier, async () => {
    const bench = createBench();
    expect((await bench.ask(...put)).status).toBe(200);
    bench.holdBack();
    expect((await bench.ask(...remove)).status).toBe(503);
    bench.heal();
    expect((await bench.ask(...put)).status).toBe(200);
    await bench.land();
    expect(await stands(bench)).toBe(true);
    expect((await bench.ask(...remove)).status).toBe(200);
    expect(await stands(bench)).toBe(false);
    expect((await bench.ask(...remove)).status).toBe(200); // it is gone, as was asked
  });

  it("stands if it is put back while its removal is under way, and the operator is told", async () => {
    const bench = createBench();
    await bench.ask(...put);
    bench.replace({
      async remove(removals) {
        bench.heal();
        expect((await bench.ask(...put)).status).toBe(200); // a process that stood still goes on
        await bench.documents.remove(removals);
      },
    });
    const refused = await bench.ask(...remove);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("meanwhile");
    expect(refused.text).not.toContain("3035550007");
    expect(await stands(bench)).toBe(true);
  });
});
