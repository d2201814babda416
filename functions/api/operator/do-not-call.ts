import { Hono } from "hono";
import type { Documents, DocumentKey } from "../../../shared/documents/documents.ts";
import { doNotCallKeyOf, doNotCallKeysOf, listMarks } from "../../../shared/documents/orders.ts";
import { traceOfNumber } from "../../../shared/numbering/phone-number.ts";
import { randomVersion } from "../../../shared/platform/random-id.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { UnreachableError } from "../port-limits.ts";
import { problem } from "../problem.ts";
import { record } from "./audit.ts";
import { checkSchema, doNotCallSchema } from "./schemas.ts";
import { body, read } from "./validate.ts";

/** Entries of one write, so that each ends within its time limit. */
const entriesAtOnce = 500;
const tries = 3;

/** The list of numbers that are never to be called, kept by their hashes. */
export function doNotCallRoutes(deps: OperatorDeps) {
  const routes = new Hono<ApiEnv>();
  const keyOf = (number: string) => doNotCallKeyOf(traceOfNumber(number, deps.hashKey).numberHash);

  routes.post("/", read, body(doNotCallSchema), async (c) => {
    const { add, remove, renew, more } = c.req.valid("json");
    const documents = await deps.documents();
    const marks = listMarks(deps.hashKey);
    const [any, own] = [doNotCallKeyOf(marks.any), doNotCallKeyOf(marks.own)];
    const standing = await documents.read(doNotCallKeysOf([], deps.hashKey));
    const isList = standing.get(any.kind, any.key) !== undefined;
    const isOfOtherKey = isList && standing.get(own.kind, own.key) === undefined;
    if (isOfOtherKey && !renew && !more) {
      const detail = "The list was made under another HASH_KEY: send all of it again, with renew.";
      return problem(c, 409, detail);
    }
    await record(c, deps, "do_not_call", "do-not-call list", add.length + remove.length);
    if (!isList) await put([own, any], documents, deps);
    await drop(remove.map(keyOf), documents);
    await put(add.map(keyOf), documents, deps);
    // Until all of it is there, a list that was made under another key lets nobody be dialed.
    if (isOfOtherKey && !more) await put([own], documents, deps);
    return c.json({ added: add.length, removed: remove.length });
  });

  routes.post("/check", read, body(checkSchema), async (c) => {
    const key = keyOf(c.req.valid("json").phone_number);
    const found = await (await deps.documents()).read([key]);
    return c.json({ listed: found.get(key.kind, key.key) !== undefined });
  });
  return routes;
}

/** Writes entries that do not stand yet. An entry that is refused is looked for, and written again where it is not there. */
async function put(
  keys: readonly DocumentKey<"do-not-call">[],
  documents: Documents,
  { clock, randomId }: OperatorDeps,
): Promise<void> {
  const value = { at: clock.now() };
  for (const some of parts([...new Map(keys.map((one) => [one.key, one])).values()])) {
    let changes = some.map((key) => ({
      next: { ...key, version: randomVersion(randomId()), value, expiresAt: null },
      seen: null,
    }));
    for (let tried = 0; changes.length > 0; tried++) {
      if (tried === tries) throw new UnreachableError("the do-not-call list took no entry");
      const written = await documents.write(changes);
      const refused = changes.filter((_, index) => written[index] !== true);
      if (refused.length === 0) break;
      const standing = await documents.read(refused.map(({ next }) => next));
      changes = refused.filter(({ next }) => standing.get(next.kind, next.key) === undefined);
    }
  }
}

async function drop(
  keys: readonly DocumentKey<"do-not-call">[],
  documents: Documents,
): Promise<void> {
  for (const some of parts(keys)) await documents.remove(some);
}

function parts<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / entriesAtOnce) }, (_, n) =>
    items.slice(n * entriesAtOnce, (n + 1) * entriesAtOnce),
  );
}
