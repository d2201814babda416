import type { Context } from "hono";
import { clientEntryOf } from "#shared/policy/number-entries.ts";
import { putNumbers, testOptOutMs } from "#shared/policy/dnc-entries.ts";
import { gatherAbove } from "#shared/policy/gathered-entries.ts";
import { appendListed } from "#shared/policy/journal-entries.ts";
import { errorsMax } from "#shared/calls/call-request.ts";
import { hashedNumberOf } from "#shared/calls/ids.ts";
import { isTestNumber, mustBeTestNumber } from "#shared/calls/test-numbers.ts";
import { answerUnprocessable } from "../http/problem.ts";
import * as z from "#shared/lib/zod.ts";
import { recordNumbers, reasonCode } from "../actions/audit-log.ts";
import { phoneNumber } from "../http/fields.ts";
import type { ApiEnv } from "../http/context.ts";
import { declareRoute } from "../http/route.ts";

/** Maximum numbers of one request. */
const numbersMax = 1_000;

/**
 * Puts numbers on the do-not-call list. A client cannot remove a number: only an operator decides whether somebody
 * may be called again. Listed numbers are added like any other, so that no answer reveals them.
 */
export const addOptOuts = declareRoute({
  operationId: "addOptOuts",
  summary: "Put numbers onto the do-not-call list: nobody calls them any more",
  method: "post",
  path: "/do-not-call",
  body: z
    .strictObject({
      phone_numbers: z.array(phoneNumber).check(z.minLength(1), z.maxLength(numbersMax)),
      scope: z
        ._default(z.enum(["deployment", "client"]), "deployment")
        .check(
          z.describe(
            "`deployment`: for every client's calls. `client`: for this client's calls alone",
          ),
        ),
      reason: z._default(reasonCode, "opt_out"),
    })
    .check(z.meta({ examples: [{ phone_numbers: ["+12025550123"] }] })),
  answer: z.looseObject({
    added: z.int().check(z.describe("Numbers of the request, each counted once")),
  }),
  problems: [403],
  async handle({ c, deps, body: { phone_numbers, scope, reason } }) {
    const { client, mode } = c.get("caller");
    const isTest = mode === "test";
    if (isTest && !phone_numbers.every(isTestNumber)) return refuseRealNumbers(c, phone_numbers);
    const numbers = [...new Set(phone_numbers)].map((phone_number) =>
      deps.numbers.own(hashedNumberOf({ client, mode, request: { phone_number } })),
    );
    const target = scope === "client" ? `do-not-call list of client ${client}` : "do-not-call list";
    const action = { action: "client_opt_out", target, reason };
    await recordNumbers(c, { ...action, hashes: numbers.map(([hash = ""]) => hash) }, deps);
    // The hashes of test calls are their client's alone.
    const isOfClient = scope === "client" && !isTest;
    const entryOf = (hash: string) => (isOfClient ? clientEntryOf(hash, client) : hash);
    const entries = numbers.map((hashes) => hashes.map(entryOf));
    if (isTest) {
      await putNumbers(entries, { ...deps, lifeMs: testOptOutMs });
      return { added: numbers.length };
    }
    await putNumbers(entries, deps);
    await appendListed(
      entries.map(([key = ""]) => key),
      { ...deps, journal: gatherAbove({ client }, deps) },
    );
    return { added: numbers.length };
  },
});

function refuseRealNumbers(c: Context<ApiEnv>, phoneNumbers: readonly string[]): Response {
  return answerUnprocessable(
    c,
    phoneNumbers
      .flatMap((number, index) =>
        isTestNumber(number)
          ? []
          : { pointer: `/phone_numbers/${index}`, detail: mustBeTestNumber },
      )
      .slice(0, errorsMax),
  );
}
