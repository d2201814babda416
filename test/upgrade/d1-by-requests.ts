import type { Miniflare } from "miniflare";

/** A Worker that runs statements on its D1 `LEDGER`. */
export const d1Worker = `export default {
  async fetch(request, { LEDGER }) {
    const { statements, isBatch } = await request.json();
    const prepared = statements.map(({ sql, bound }) => LEDGER.prepare(sql).bind(...bound));
    try {
      return Response.json(isBatch ? await LEDGER.batch(prepared) : [await prepared[0].all()]);
    } catch (error) {
      return new Response(error.message, { status: 500 });
    }
  },
};`;

/** A statement with its bound values, which are JSON. */
interface Statement {
  sql: string;
  bound: readonly unknown[];
}

/**
 * Returns the D1 of a Miniflare that runs `d1Worker`: each query and each batch is one request. Miniflare's own asks workerd
 * at each `prepare` and `bind` too, and holds up this process until it answers.
 */
export function openD1(miniflare: Miniflare): D1Database {
  const run = async (statements: readonly Statement[], isBatch: boolean) => {
    const body = JSON.stringify({ statements, isBatch });
    const answer = await miniflare.dispatchFetch("http://d1/", { method: "POST", body });
    if (!answer.ok) throw new Error(await answer.text());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the Worker answers so
    return (await answer.json()) as D1Result[];
  };
  const prepare = (sql: string, bound: readonly unknown[] = []) => {
    const all = async () => (await run([{ sql, bound }], false))[0];
    return { sql, bound, bind: (...values: unknown[]) => prepare(sql, values), all, run: all };
  };
  const batch = (statements: readonly Statement[]) => run(statements, true);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the methods that the adapters and these tests call
  return { prepare, batch } as unknown as D1Database;
}
