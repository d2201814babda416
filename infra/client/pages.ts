import { OutboundCallsError } from "./errors.ts";

interface PageQuery {
  limit: number;
  cursor?: string;
}
/** Items of a page, and the cursor of the next one. */
type Page<Item> = [items: readonly Item[], cursor: string | null | undefined];

/** Yields the items of all pages, one page after another. `ask` asks for one of them. @throws {OutboundCallsError} */
export async function* pages<Item>(
  ask: (query: PageQuery) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  const query: PageQuery = { limit: 200 };
  for (;;) {
    const [items, cursor] = await ask(query);
    if (!Array.isArray(items)) {
      const detail = "The answer has no list.";
      throw new OutboundCallsError({ type: "unexpected", detail, isMaybeAccepted: false });
    }
    yield* items;
    if (typeof cursor !== "string") return;
    query.cursor = cursor;
  }
}
