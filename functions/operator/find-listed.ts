import { readListed } from "#shared/policy/number-entries.ts";
import * as z from "#shared/lib/zod.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { phoneNumber } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import { refuseListCheck, refuseOtherKey } from "./look-up.ts";

/** Maximum numbers of one request. */
const numbersMax = 10_000;
/** Numbers that are looked up at once. */
const numbersAtOnce = 500;

const listedSchema = z.strictObject({
  listed: z
    .array(z.int())
    .check(z.describe("Indexes in `phone_numbers` of those on the list, from 0")),
});

/** Answers with indexes alone, so that no answer repeats a number. */
const findListed = declareRoute({
  operationId: "findListedNumbers",
  summary: "Find which of many numbers are on the do-not-call list; recorded by their count",
  description: "A token checks at most 200 lists in an hour.",
  role: "see",
  method: "post",
  path: "/find-listed",
  body: z.strictObject({
    phone_numbers: z.array(phoneNumber).check(z.minLength(1), z.maxLength(numbersMax)),
    client: z
      .optional(z.string().check(z.minLength(1), z.maxLength(300)))
      .check(z.describe("Entries that apply only to this client's calls count too")),
  }),
  answer: listedSchema,
  problems: [409, 429],
  async handle({ c, deps, body: { phone_numbers, client } }) {
    const { documents, numbers: hasher } = deps;
    const refused = await refuseListCheck(c, "checked", deps);
    if (refused !== undefined) return refused;
    const count = phone_numbers.length;
    await recordAction(c, { action: "check_list", target: "do-not-call list", count }, deps);
    const listed: number[] = [];
    for (let start = 0; start < phone_numbers.length; start += numbersAtOnce) {
      const numbers = phone_numbers
        .slice(start, start + numbersAtOnce)
        .map((number) => ({ hashes: hasher.all(number).asked, client }));
      const answers = await readListed(numbers, hasher.keyNames, documents);
      if (answers === undefined) return refuseOtherKey(c);
      listed.push(...answers.flatMap((isListed, index) => (isListed ? start + index : [])));
    }
    return { listed };
  },
});

export const findListedRoutes = [findListed];
