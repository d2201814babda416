import { clientEntryOf, doNotCallListKey, readListed } from "#shared/policy/number-entries.ts";
import { changeList, putNumbers, removeEntries } from "#shared/policy/dnc-entries.ts";
import { gatherAbove } from "#shared/policy/gathered-entries.ts";
import { appendListed, appendEntry } from "#shared/policy/journal-entries.ts";
import { countRemovals } from "#shared/policy/listing-order.ts";
import { findUnreadList } from "#shared/rules/gates.ts";
import * as z from "#shared/lib/zod.ts";
import { answerProblem, answerUnprocessable } from "../api/http/problem.ts";
import { reasonCode, recordNumbers } from "../api/actions/audit-log.ts";
import { anyName, phoneNumber } from "../api/http/fields.ts";
import { isKnownClient, unknownClient } from "./pause-orders.ts";
import { refuseWithoutRole } from "./roles.ts";
import { declareRoute } from "../api/http/route.ts";
import { writerOf } from "../api/actions/writer.ts";
import { lookUpText, refuseLookUp, refuseOtherKey } from "./look-up.ts";

/** Maximum numbers that one request adds or removes. */
const numbersMax = 10_000;
const tooMany =
  "must have at most 10,000 numbers: send the list in parts, each but the last with `more`, as npm run calls -- dnc add --file does";

const changedSchema = z.strictObject({ added: z.int(), removed: z.int() });

/** The list contains hashes of numbers. */
const changeDoNotCall = declareRoute({
  operationId: "changeDoNotCall",
  summary: "Add numbers to the do-not-call list, or take them from it",
  method: "post",
  path: "/do-not-call",
  description: "To remove numbers, or to send a whole list again, needs the role `configure` too.",
  body: z
    .strictObject({
      add: z._default(z.array(phoneNumber).check(z.maxLength(numbersMax, tooMany)), []),
      remove: z._default(z.array(phoneNumber).check(z.maxLength(numbersMax, tooMany)), []),
      client: z
        .optional(anyName)
        .check(
          z.describe("The client whose own entries are meant; absent: those for every client"),
        ),
      reason: z._default(reasonCode, "operator"),
      renew: z
        ._default(z.boolean(), false)
        .check(z.describe("The list was made under another HASH_KEY, and all of it is sent again")),
      more: z
        ._default(z.boolean(), false)
        .check(
          z.describe(
            "True: the list continues in another request. Its last request is without `more`",
          ),
        ),
    })
    .check(
      z.refine(({ client, renew }) => !renew || client === undefined, {
        path: ["renew"],
        error: "is for the whole list, and not for a client's entries",
      }),
      z.refine(({ add, renew }) => !renew || add.length > 0, {
        path: ["renew"],
        error: "is for a list that is sent again: there is nothing to add",
      }),
      z.refine(({ add, remove }) => add.length + remove.length > 0, {
        error: "must have numbers to add or to remove",
      }),
    ),
  answer: changedSchema,
  problems: [409],
  async handle({ c, deps, body: { add, remove, client, reason, renew, more } }) {
    const { documents, numbers } = deps;
    const isGrave = remove.length > 0 || renew;
    const refused = isGrave ? refuseWithoutRole(c, "configure", deps) : undefined;
    if (refused !== undefined) return refused;
    const isSlip = client !== undefined && add.length > 0 && !(await isKnownClient(client, deps));
    if (isSlip) return answerUnprocessable(c, [{ pointer: "/client", detail: unknownClient }]);
    const current = await documents.read([doNotCallListKey]);
    const isOther = findUnreadList(current, numbers.keyNames) !== undefined;
    if (isOther && !renew && !more) return refuseOtherKey(c);
    const hashOf = (number: string) => numbers.trace(number).numberHash;
    const entryOf = (hash: string) => (client === undefined ? hash : clientEntryOf(hash, client));
    const entriesOf = (number: string) => numbers.own(number).map(entryOf);
    const of = client === undefined ? "" : ` of client ${client}`;
    const changed = { target: `do-not-call list${of}`, reason };
    const [added, removed] = [add.map(hashOf), remove.map(hashOf)];
    await recordNumbers(c, { ...changed, action: "do_not_call_remove", hashes: removed }, deps);
    await recordNumbers(c, { ...changed, action: "do_not_call_add", hashes: added }, deps);
    const unlisted = remove.flatMap(entriesOf);
    // An opt-out that arrives while this answer is made must come after it in the journal.
    const begunAt = deps.clock.now();
    const removals = await countRemovals(unlisted, begunAt, deps);
    const isRemoved = await removeEntries(unlisted, deps);
    await putNumbers(add.map(entriesOf), deps);
    // Numbers that were added again meanwhile stay listed: the journal gets no removal.
    if (isRemoved && remove.length > 0)
      await appendEntry({ kind: "unlist", entries: unlisted, removals }, deps, begunAt);
    if (add.length > 0)
      await appendListed(added.map(entryOf), { ...deps, journal: gatherAbove(writerOf(c), deps) });
    // Until a list that was made under another key has been sent completely, nobody is dialed. Known keys stay named:
    // opt-outs that the operator's list may lack are under the former one.
    if (isOther && !more) {
      const held = numbers.keyNames;
      await changeList(
        (list) => ({ ...list, keys: list.keys.filter((name) => held.includes(name)) }),
        deps,
      );
    }
    if (isRemoved) return { added: add.length, removed: remove.length };
    const detail =
      "Some of the numbers were put on the list again meanwhile, and stay on it. Check which, and remove those again.";
    return answerProblem(c, 409, { detail });
  },
});

const checkedSchema = z.strictObject({
  listed: z.boolean().check(z.describe("True: nobody calls it")),
  clients: z
    .optional(z.array(z.string()))
    .check(z.describe("Clients that do not call it, by entries of their own; absent: none")),
});

/** Maximum entries of clients that an answer names. */
const clientsMax = 100;

const checkDoNotCall = declareRoute({
  operationId: "checkDoNotCall",
  summary: "Check whether a number is on the do-not-call list",
  method: "post",
  description: lookUpText,
  role: "find",
  path: "/do-not-call/check",
  body: z.strictObject({ phone_number: phoneNumber }),
  answer: checkedSchema,
  problems: [409, 429],
  async handle({ c, deps, body }) {
    const refused = await refuseLookUp(c, body.phone_number, deps);
    if (refused !== undefined) return refused;
    const hashes = deps.numbers.all(body.phone_number).asked;
    const listed = await readListed([{ hashes }], deps.numbers.keyNames, deps.documents);
    if (listed === undefined) return refuseOtherKey(c);
    const prefixes = hashes.map((hash) => clientEntryOf(hash, ""));
    const own = await deps.documents.listByPrefix("do-not-call", { prefixes, limit: clientsMax });
    const clients = [...new Set(own.map(({ key }) => key.slice(key.indexOf(" ") + 1)))].toSorted();
    return { listed: listed[0] === true, ...(clients.length > 0 ? { clients } : {}) };
  },
});

export const doNotCallRoutes = [changeDoNotCall, checkDoNotCall];
