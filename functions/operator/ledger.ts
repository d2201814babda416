import type { DocumentsRead, StoredDocument } from "#shared/ports/document-kinds.ts";
import { findRestore, restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import * as z from "#shared/lib/zod.ts";
import { answerProblem, answerUnprocessable } from "../api/http/problem.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import { instant, time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";

type Restore = StoredDocument<"restore">["value"];

const restoreViewSchema = z.strictObject({
  state: z
    .enum(["none", "suspended", "confirmed", "done"])
    .check(
      z.describe(
        "`suspended`: the ledger went back and nothing is dialed until the restore is confirmed; `confirmed`: sweeps go through the calls, and nothing is dialed yet; `done`: calls are dialed again",
      ),
    ),
  since: z.nullable(time).check(z.describe("When it was noticed or declared")),
  restored_to: z.nullable(time).check(z.describe("The time to which the ledger went back")),
  by: z.nullable(z.string()),
  looked_up: z.int().check(z.describe("Calls that are looked up at their provider")),
  to_review: z.int().check(z.describe("Calls that cannot be looked up and wait for review")),
  rows_read: z
    .int()
    .check(z.describe("Calls that the pass under way has read. The last pass finds nothing more")),
  backlogs_read: z.int().check(z.describe("Backlogs that it has read")),
});
type RestoreView = z.infer<typeof restoreViewSchema>;

const showRestore = declareRoute({
  operationId: "showRestore",
  summary:
    "Show whether the ledger was restored from a backup, and how far the calls have been checked",
  method: "get",
  path: "/restored",
  answer: restoreViewSchema,
  async handle({ deps: { documents } }) {
    return viewOf((await documents.read([restoreKey])).get("restore", restoreKey.key)?.value);
  },
});

/** Also declares a restore that no sweep can notice, such as one to less than a minute ago. */
const confirmRestore = declareRoute({
  operationId: "confirmRestore",
  summary: "Confirm that the ledger was restored, and to what time",
  method: "post",
  role: "configure",
  path: "/restored",
  body: z.strictObject({
    at: instant.check(z.describe("The time to which the ledger went back")),
    unnoticed: z
      .optional(z.boolean())
      .check(z.describe("True to declare a restore that no sweep has noticed for minutes")),
  }),
  answer: restoreViewSchema,
  problems: [409],
  async handle({ c, deps, body: { at, unnoticed } }) {
    const { documents, clock } = deps;
    const now = clock.now();
    const read = await documents.read([restoreKey, sweepKey]);
    const current = read.get("restore", restoreKey.key)?.value;
    if (current?.state === "confirmed") {
      return answerProblem(c, 409, {
        detail: "A restore is confirmed already, and its calls are being checked.",
      });
    }
    if (current?.state !== "suspended" && unnoticed !== true) {
      const detail =
        "No restore is waiting to be confirmed. A sweep notices one within two minutes; if none does, declare it as unnoticed.";
      return answerProblem(c, 409, { detail });
    }
    const since = current?.state === "suspended" ? current.since : now;
    if (at > since) {
      const detail = `must not be after ${toIsoTime(since)}, when the restore was noticed`;
      return answerUnprocessable(c, [{ pointer: "/at", detail }]);
    }
    await recordAction(c, { action: "restored", target: `ledger ${toIsoTime(at)}` }, deps);
    const by = c.get("caller").tokenId;
    const epoch = read.get("sweep", sweepKey.key)?.value.epoch ?? 0;
    const declared = { epoch, since, isWatchDone: false, lookedUp: 0, toReview: 0 };
    const change = (restore: Restore | undefined) => {
      if (restore?.state === "confirmed") return undefined;
      const of = restore?.state === "suspended" ? restore : declared;
      const value: Restore = { ...of, state: "confirmed", at, by, confirmedAt: now };
      return { value, expiresAt: null };
    };
    const { before, after } = await changeDocument({ name: restoreKey, change }, deps);
    return viewOf(after ?? before);
  },
});

export const restoreRoutes = [showRestore, confirmRestore];

/** The kind of need of a ledger that was restored, and the reason for which it holds all calls. */
export const restoreNeed = "restored";

/** Returns the need of a restore that is not dealt with yet, and the name of its texts. */
export function findRestoreNeed(read: DocumentsRead) {
  const restore = findRestore(read);
  if (restore === undefined) return undefined;
  const since = toIsoTime(restore.since);
  const id = `${restoreNeed} ${restore.since}`;
  return {
    of: { id, kind: restoreNeed, what: "ledger", since, holder: `${restoreNeed} ` },
    text: restore.state === "confirmed" ? "recovering" : restoreNeed,
  } as const;
}

/** Returns the time since which nothing is dialed as the ledger was restored; null where calls are dialed. */
export function findSuspendedSince(read: DocumentsRead): string | null {
  return toIsoTime(findRestore(read)?.since ?? null);
}

function viewOf(restore: Restore | undefined): RestoreView {
  const {
    state = "none",
    since = null,
    at = null,
    by = null,
    lookedUp,
    toReview,
    pass,
  } = restore ?? {};
  return {
    state,
    since: toIsoTime(since),
    restored_to: toIsoTime(at),
    by,
    looked_up: lookedUp ?? 0,
    to_review: toReview ?? 0,
    rows_read: pass?.rows ?? 0,
    backlogs_read: pass?.backlogs ?? 0,
  };
}
