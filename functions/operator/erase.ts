import { eraseRows, rememberErasures } from "#shared/policy/erase-number.ts";
import { gatherAbove } from "#shared/policy/gathered-entries.ts";
import { appendEntry } from "#shared/policy/journal-entries.ts";
import { mayAlsoBe } from "#shared/telephony/phone-number.ts";
import * as z from "#shared/lib/zod.ts";
import { reasonCode, recordNumbers } from "../api/actions/audit-log.ts";
import { countActions } from "../api/actions/change-call.ts";
import { phoneNumber } from "../api/http/fields.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { declareRoute } from "../api/http/route.ts";
import { writerOf } from "../api/actions/writer.ts";
import { listByNumber } from "./list-by-number.ts";

/** Calls that are shown of a number that may be the same phone. */
const othersShown = 20;

const erasedSchema = z.strictObject({
  erased: z.int().check(z.describe("Calls whose data this request has erased")),
  pending: z
    .array(z.string())
    .check(z.describe("Calls that are being dialed or looked up: erased when they settle")),
  kept: z
    .string()
    .check(z.describe("Which data of the number remains for now, and when it is deleted")),
  may_also_be: z
    .array(z.strictObject({ phone_number: z.string(), calls: z.array(z.string()) }))
    .check(
      z.describe(
        `Other numbers that may be the same phone, with their last calls, at most ${othersShown}: erase each too if it is`,
      ),
    ),
});
type ErasedAnswer = z.infer<typeof erasedSchema>;

const kept =
  "Requests that wait on a queue, stored batches and dead letters are not opened: those with the number are deleted within " +
  "30 days, and none of their calls is made. Backups stay for 35 days; on AWS the former table after a restore, until " +
  "you delete it. Keyed hashes stay for their time in rows, caps, sent files, journal and audit log. Providers and receivers " +
  "of events have records of their own.";

/**
 * Erases what is known of one person by their number. Calls that are accepted later are made: put the number on the
 * do-not-call list too if it must never be called.
 */
const eraseNumber = declareRoute({
  operationId: "eraseNumber",
  summary: "Erase everything that is known of a number, and cancel its waiting calls",
  method: "post",
  role: "configure",
  path: "/erase",
  body: z.strictObject({ phone_number: phoneNumber, reason: z._default(reasonCode, "erasure") }),
  answer: erasedSchema,
  status: 202,
  async handle({ c, deps, body: { phone_number, reason } }) {
    const hashes = deps.numbers.own(phone_number);
    const [current = ""] = hashes;
    const action = { action: "erase", target: "number", reason };
    await recordNumbers(c, { ...action, hashes: [current] }, deps);
    const erasure = { at: deps.clock.now(), by: c.get("caller").tokenId };
    // Rows may be under the former HASH_KEY too, so the erasure of each hash is stored.
    for (const hash of hashes) {
      await rememberErasures([{ ...erasure, hash, retentionMs: deps.retentionMs }], deps);
    }
    const { retentionMs } = deps;
    const journal = gatherAbove(writerOf(c), deps);
    await appendEntry({ kind: "erase", hashes, ...erasure, retentionMs }, { ...deps, journal });
    let erased = 0;
    const pending: string[] = [];
    for (const hash of hashes) {
      const done = await eraseRows({ ...erasure, hash }, deps);
      await countActions(done.cancelled, deps);
      erased += done.erased;
      pending.push(...done.pending);
    }
    return { erased, pending, kept, may_also_be: await findOthers(phone_number, deps) };
  },
});

/**
 * Finds calls to numbers that may be the same phone. They are erased only on request, because they may belong to
 * another person.
 */
async function findOthers(number: string, { ledger, numbers }: RouteDeps) {
  const found: ErasedAnswer["may_also_be"] = [];
  for (const other of mayAlsoBe(number)) {
    const page = await listByNumber(ledger, numbers.own(other), { limit: othersShown });
    const calls = page.rows.map(({ id }) => id);
    if (calls.length > 0) found.push({ phone_number: other, calls });
  }
  return found;
}

export const eraseRoutes = [eraseNumber];
