import type { DocumentsRead, StoredDocument } from "#shared/ports/document-kinds.ts";
import { findRestore, ledgerKeys, restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import { forecastSize } from "#shared/policy/ledger-size.ts";
import { minuteMs } from "#shared/lib/units.ts";
import * as z from "#shared/lib/zod.ts";
import { answerProblem, answerUnprocessable } from "../api/http/problem.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { instant, time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import type { Texts } from "./need-texts.ts";

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

export const ledgerRoutes = [showRestore, confirmRestore];

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

/** The time of the last sweep, in answers. */
export const lastSweepAt = z
  .nullable(time)
  .check(z.describe("When the last full round of the sweep began; null before the first"));

const sizeField = z
  .nullable(
    z.strictObject({
      bytes: z.int(),
      bytes_max: z.int(),
      full_at: z
        .nullable(time)
        .check(z.describe("When it is full, if it grows as in the last day")),
    }),
  )
  .check(z.describe("null: it may grow without end"));

/** The state of the ledger, in answers. */
export const ledgerFields = {
  last_sweep_at: lastSweepAt,
  ledger_size: sizeField,
  suspended_since: z
    .nullable(time)
    .check(z.describe("Since when nothing is dialed, as the ledger was restored; null otherwise")),
};

/** Returns the state of the ledger, by the documents of `ledgerKeys`. */
export function toLedgerView(read: DocumentsRead) {
  return {
    last_sweep_at: findLastSweepAt(read),
    ledger_size: findSize(read),
    suspended_since: toIsoTime(findRestore(read)?.since ?? null),
  };
}

/** Returns the time at which the last full round of the sweep began; null before the first one. */
export function findLastSweepAt(read: DocumentsRead): string | null {
  const { fullRoundAt = 0 } = read.get(sweepKey.kind, sweepKey.key)?.value ?? {};
  return fullRoundAt === 0 ? null : toIsoTime(fullRoundAt);
}

/** Returns the size of the ledger as the sweeps have seen it; null where they see none. */
function findSize(read: DocumentsRead): z.infer<typeof sizeField> {
  const history = read.get(sweepKey.kind, sweepKey.key)?.value.size;
  const forecast = history && forecastSize(history);
  if (history === undefined || forecast === undefined) return null;
  const { bytes, fullAt = null } = forecast;
  return { bytes, bytes_max: history.bytesMax, full_at: toIsoTime(fullAt) };
}

/** Age of the last sweep, and share of the ledger's maximum size, from which on a person is needed. */
const sweepMsMax = 5 * minuteMs;
const fullShare = 0.7;

/** Kinds of the needs of a ledger: it was restored, it is nearly full, or sweeps do not get through it. */
export const ledgerNeeds = ["restored", "ledger_full", "sweep_halted"] as const;

/** A need of the ledger, with its words. */
interface FoundNeed extends Texts {
  id: string;
  kind: (typeof ledgerNeeds)[number];
  what: string;
  since?: string;
  holder?: string;
}

/** Finds a restored or nearly full ledger, and sweeps that do not get through it. */
export async function findLedgerNeeds({
  documents,
  clock,
}: Pick<RouteDeps, "documents" | "clock">): Promise<FoundNeed[]> {
  const read = await documents.read(ledgerKeys);
  const { fullRoundAt = 0, size } = read.get(sweepKey.kind, sweepKey.key)?.value ?? {};
  const found: FoundNeed[] = [];
  const restore = findRestore(read);
  if (restore !== undefined) {
    found.push({
      id: `restored ${restore.since}`,
      kind: "restored",
      what: "ledger",
      since: toIsoTime(restore.since),
      holder: "restored ", // all calls are held for this reason, which has no name
      ...(restore.state === "confirmed" ? textsOf.recovering : textsOf.restored),
    });
  } else if (fullRoundAt > 0 && clock.now() - fullRoundAt > sweepMsMax) {
    const since = toIsoTime(fullRoundAt);
    found.push({ id: "sweep", kind: "sweep_halted", what: "sweeps", since, ...textsOf.halted });
  }
  const forecast = size && forecastSize(size);
  if (size !== undefined && forecast !== undefined && forecast.bytes > size.bytesMax * fullShare) {
    const what = `ledger at ${Math.floor((forecast.bytes / size.bytesMax) * 100)} %`;
    const { fullAt } = forecast;
    const when =
      fullAt === undefined
        ? ""
        : ` It is full on ${toIsoTime(fullAt).slice(0, 10)}, if it grows as in the last day.`;
    const { means, fix } = textsOf.full;
    found.push({ id: "full", kind: "ledger_full", what, means: means + when, fix });
  }
  return found;
}

const textsOf = {
  restored: {
    means: "The ledger was restored from a backup, and nothing is dialed.",
    fix: "Confirm to what time it was restored: npm run calls -- restored.",
  },
  recovering: {
    means: "The calls of the restored ledger are being checked, and nothing is dialed yet.",
    fix: "Wait until it is finished; progress: npm run calls -- restored.",
  },
  full: {
    means: "The ledger is nearly full.",
    fix: "Lower retentionDays, or archive finished calls.",
  },
  halted: {
    means: "Sweeps have not checked all calls for five minutes: waiting calls may not be dialed.",
    fix: "Look at the log of the sweep, and whether its schedule runs.",
  },
} as const satisfies Record<string, Texts>;
