import type { DocumentChange, Documents } from "../../../shared/ports/documents.ts";
import type { DocumentKey } from "../../../shared/ports/document-kinds.ts";
import {
  doNotCallKeyOf,
  doNotCallKeysOf,
  isOfOtherKey,
  listMarks,
} from "../../../shared/policy/controls.ts";
import { hashNumber } from "../../../shared/telephony/phone-number.ts";
import { ConflictError, onConflict, retry } from "../../../shared/lib/retry.ts";
import * as z from "../../../shared/lib/zod.ts";
import type { RouteDeps } from "../http/context.ts";
import { answerProblem } from "../http/problem.ts";
import { recordAction } from "../actions/audit-log.ts";
import { phoneNumber } from "../http/fields.ts";
import { removeDocuments } from "../actions/remove-documents.ts";
import { declareRoute } from "../http/route.ts";

/** Maximum numbers that one request adds or removes. */
const numbersMax = 10_000;
/** Maximum entries of one write, which must end within its time limit. */
const entriesAtOnce = 500;
/** Maximum tries of a write if other writes come first. */
const triesMax = 3;

const changedSchema = z.strictObject({ added: z.int(), removed: z.int() });

/** The list contains hashes of numbers. */
const changeDoNotCall = declareRoute({
  operationId: "changeDoNotCall",
  summary: "Add numbers to the do-not-call list, or take them from it",
  method: "post",
  path: "/do-not-call",
  body: z
    .strictObject({
      add: z._default(z.array(phoneNumber).check(z.maxLength(numbersMax)), []),
      remove: z._default(z.array(phoneNumber).check(z.maxLength(numbersMax)), []),
      renew: z
        ._default(z.boolean(), false)
        .check(z.describe("The list was made under another HASH_KEY, and all of it is sent anew")),
      more: z
        ._default(z.boolean(), false)
        .check(
          z.describe("More of the same list follows: it is whole with the request without `more`"),
        ),
    })
    .check(
      z.refine(({ add, renew }) => !renew || add.length > 0, {
        path: ["renew"],
        error: "is for a list that is sent anew: there is nothing to add",
      }),
      z.refine(({ add, remove }) => add.length + remove.length > 0, {
        error: "must have numbers to add or to remove",
      }),
    ),
  answer: changedSchema,
  problems: [409],
  async handle({ c, deps, body: { add, remove, renew, more } }) {
    const { documents } = deps;
    const marks = listMarks(deps.hashKey);
    const [any, own] = [doNotCallKeyOf(marks.any), doNotCallKeyOf(marks.own)];
    const current = await documents.read(doNotCallKeysOf([], deps.hashKey));
    const isList = current.get(any.kind, any.key) !== undefined;
    const isOther = isOfOtherKey(current, deps.hashKey);
    if (isOther && !renew && !more) {
      const detail = "The list was made under another HASH_KEY: send all of it again, with renew.";
      return answerProblem(c, 409, { detail });
    }
    await recordAction(
      c,
      { action: "do_not_call", target: "do-not-call list", count: add.length + remove.length },
      deps,
    );
    if (!isList) {
      // The order matters: a list without this key's mark counts as another key's, and stops all dialing.
      await put([own], documents, deps);
      await put([any], documents, deps);
    }
    const keyOf = (number: string) => keyOfNumber(number, deps);
    const isDropped = await drop(remove.map(keyOf), documents);
    await put(add.map(keyOf), documents, deps);
    // A list made under another key stops all dialing until the whole list has been sent again.
    if (isOther && !more) await put([own], documents, deps);
    if (isDropped) return { added: add.length, removed: remove.length };
    const detail =
      "Some of the numbers to be removed were put on the list again meanwhile, and stay on it. Look, and send those again.";
    return answerProblem(c, 409, { detail });
  },
});

const checkedSchema = z.strictObject({ listed: z.boolean() });
export type NumberChecked = z.infer<typeof checkedSchema>;

const checkDoNotCall = declareRoute({
  operationId: "checkDoNotCall",
  summary: "Whether a number is on it",
  method: "post",
  path: "/do-not-call/check",
  body: z.strictObject({ phone_number: phoneNumber }),
  answer: checkedSchema,
  async handle({ deps, body }) {
    const key = keyOfNumber(body.phone_number, deps);
    const found = await deps.documents.read([key]);
    return { listed: found.get(key.kind, key.key) !== undefined };
  },
});

export const doNotCallRoutes = [changeDoNotCall, checkDoNotCall];

function keyOfNumber(number: string, { hashKey }: RouteDeps): DocumentKey<"do-not-call"> {
  return doNotCallKeyOf(hashNumber(number, hashKey).numberHash);
}

/**
 * Writes entries. Existing ones are written again under a fresh version, so that an earlier removal whose answer was
 * lost cannot remove them.
 */
async function put(
  keys: readonly DocumentKey<"do-not-call">[],
  documents: Documents,
  { clock, random }: RouteDeps,
): Promise<void> {
  const value = { at: clock.now() };
  for (const some of parts([...new Map(keys.map((one) => [one.key, one])).values()])) {
    let changes: DocumentChange<"do-not-call">[] = some.map((key) => ({
      next: { ...key, version: random.version(), value, expiresAt: null },
      seen: null,
    }));
    await retry(async () => {
      const written = await documents.write(changes);
      const refused = changes.filter((_, index) => written[index] !== true);
      if (refused.length === 0) return;
      const read = await documents.read(refused.map(({ next }) => next));
      changes = refused.map(({ next }) => {
        const current = read.get(next.kind, next.key);
        const kept = current?.value ?? next.value;
        return { next: { ...next, value: kept }, seen: current?.version ?? null };
      });
      throw new ConflictError("the do-not-call list took no entry");
    }, onConflict(triesMax));
  }
}

/** Removes entries. Resolves to false if some were written again meanwhile. */
async function drop(
  keys: readonly DocumentKey<"do-not-call">[],
  documents: Documents,
): Promise<boolean> {
  let isDropped = true;
  for (const some of parts(keys)) {
    if (!(await removeDocuments(some, documents))) isDropped = false;
  }
  return isDropped;
}

function parts<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / entriesAtOnce) }, (_, n) =>
    items.slice(n * entriesAtOnce, (n + 1) * entriesAtOnce),
  );
}
