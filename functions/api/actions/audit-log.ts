import { hash } from "node:crypto";
import type { Context } from "hono";
import { ConflictError } from "#shared/lib/retry.ts";
import { hourMs } from "#shared/lib/units.ts";
import * as z from "#shared/lib/zod.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { UnreachableError } from "../http/port-limits.ts";
import { createCursorSchema, toCursor } from "../http/cursors.ts";
import { instant, limit, nextCursor, time, toIsoTime } from "../http/fields.ts";
import { declareRoute } from "../http/route.ts";

const names = z.optional(z.array(z.string()));
const exposureSchema = z.looseObject({
  url: z.optional(z.string()).check(z.describe("Without its query, which may be a secret")),
  echo: names,
  rights: names,
  agents: names,
});
/** The knowledge and rights that an action gives to others. */
export type Exposure = ValueOf<"audit">["exposes"];

const auditSchema = z.strictObject({
  entries: z.array(
    z.strictObject({
      at: time,
      by: z.string(),
      action: z.string(),
      target: z.string(),
      count: z.nullable(z.int()),
      times: z
        .int()
        .check(z.describe("How often a client did the same within the hour; an operator: 1")),
      last_at: time.check(z.describe("When it did so last")),
      reason: z.nullable(z.string()),
      exposes: z
        .nullable(exposureSchema)
        .check(
          z.describe("What it lets others know or do: a receiver's URL and echo, rights, agents"),
        ),
      numbers: z
        .array(z.string())
        .check(z.describe("First digits of the hashes of the numbers concerned, if they are kept")),
    }),
  ),
  cursor: nextCursor,
});
type Audit = z.infer<typeof auditSchema>;

/** Maximum entries of one page, and maximum entries that one answer examines to find the requested ones. */
const pageEntries = 200;
const looksMax = 2_000;
const filters = {
  of: z
    .optional(z.enum(["operators", "clients"]))
    .check(z.describe("Whose actions; operators' by default")),
  by: z.optional(z.string()).check(z.describe("Id of a token")),
  action: z.optional(z.string()).check(z.describe("Name of an action, such as `cancel`")),
  target: z.optional(z.string()).check(z.describe("What it concerned, such as `agent sales`")),
  from: z.optional(instant).check(z.describe("Entries from then on")),
  until: z.optional(instant).check(z.describe("Entries before then")),
};

/** A position in the log: the key of the last entry that was looked at. Behind its time, a key may have any token's id. */
const cursorSchema = z.strictObject({ after: z.string().check(z.regex(/^\d{15}#/)) });

const listAudit = declareRoute({
  operationId: "listAudit",
  summary: "List what operators or clients did, newest first",
  method: "get",
  path: "/audit",
  query: z.strictObject({
    ...filters,
    cursor: z.optional(createCursorSchema(cursorSchema)),
    limit,
  }),
  answer: auditSchema,
  async handle({ deps: { documents }, query }) {
    const kind = query.of === "clients" ? "client-audit" : "audit";
    const { from = 0, until = Infinity } = query;
    const isAsked = ({ at, by, action, target, lastAt = at }: Entry) =>
      at < until &&
      lastAt >= from &&
      [query.by ?? by, query.action ?? action, query.target ?? target].join() ===
        [by, action, target].join();
    // Clients' entries stand at the beginning of their hour, in no order.
    const earliest = keyAt(hourOf(from));
    const found: { key: string; value: Entry }[] = [];
    let after = query.cursor?.after ?? (until === Infinity ? undefined : keyAt(until));
    for (let looked = 0; looked < looksMax; looked += pageEntries) {
      const page = await documents.list(kind, { after, limit: pageEntries, descending: true });
      for (const { key, value } of page.filter(isReadable)) {
        if (key < earliest) return { entries: found.map(viewOf) };
        after = key;
        if (isAsked(value)) found.push({ key, value });
        if (found.length === query.limit) break;
      }
      if (found.length === query.limit) break;
      if (page.length < pageEntries) return { entries: found.map(viewOf) };
    }
    const more = after === undefined ? {} : { cursor: toCursor({ after }) };
    return { entries: found.map(viewOf), ...more };
  },
});

type Entry = ValueOf<"audit">;

function viewOf({ value }: { value: Entry }): Audit["entries"][number] {
  const { at, count = null, reason = null, numbers = [], exposes = null } = value;
  const { by, action, target, times = 1, lastAt = at } = value;
  const last = { times, last_at: toIsoTime(lastAt) };
  return { at: toIsoTime(at), by, action, target, count, ...last, reason, exposes, numbers };
}

/** Returns the beginning of an hour. Both are milliseconds since the epoch. */
const hourOf = (at: number) => Math.floor(at / hourMs) * hourMs;

/** Key of the first entry of a time. */
function keyAt(at: number): string {
  return `${String(at).padStart(15, "0")}#`;
}

export const auditRoutes = [listAudit];

/** An action for the audit log. */
interface RecordedAction {
  action: string;
  /** The call, agent, account, request or breaker concerned; never a number. */
  target: string;
  /** Number of calls or numbers concerned. */
  count?: number | undefined;
  /** First digits of the hashes of the numbers concerned; a code, or an operator's words, for why. */
  numbers?: readonly string[] | undefined;
  reason?: string | undefined;
  exposes?: Exposure;
  /** The time and id of a request whose repeats make no second entry. */
  once?: { at: number; id: string } | undefined;
}

/** A code for why numbers were added or removed. It has no digits, so that it cannot hold a number. */
export const reasonCode = z
  .string()
  .check(
    z.regex(/^[a-z][a-z_]{0,63}$/, "must be a word such as complaint: a to z and _, at most 64"),
    z.describe("The reason, as one word. The audit log records it"),
  );

/** Digits of a hash that distinguish it: those of its key's name, and 64 bits. */
const hashDigits = 24;
/** Numbers of one entry. */
const numbersAtOnce = 500;

/** Records a change of the do-not-call list by the numbers' hashes, in as many entries as it takes. */
export async function recordNumbers(
  c: Context<ApiEnv>,
  { hashes, ...action }: RecordedAction & { hashes: readonly string[]; reason: string },
  deps: RouteDeps,
): Promise<void> {
  for (let start = 0; start < hashes.length; start += numbersAtOnce) {
    const some = hashes.slice(start, start + numbersAtOnce);
    const numbers = some.map((one) => one.slice(0, hashDigits));
    await recordAction(c, { ...action, count: some.length, numbers }, deps);
  }
}

/**
 * Writes an action to the audit log. Call it before the action: an action that is not in the log must not be
 * executed.
 */
export async function recordAction(
  c: Context<ApiEnv>,
  { action, target, count, numbers, reason, exposes, once }: RecordedAction,
  deps: RouteDeps,
): Promise<void> {
  const { clock, log } = deps;
  const at = clock.now();
  const by = c.get("caller").tokenId;
  const id = once === undefined ? deps.randomId() : `${once.id}_${by}`;
  const counted = count === undefined ? {} : { count };
  const changed = {
    ...(numbers === undefined ? {} : { numbers: [...numbers] }),
    ...(reason === undefined ? {} : { reason }),
    ...(exposes === undefined ? {} : { exposes }),
  };
  const value: Entry = { at, by, action, target, ...counted, ...changed };
  const isOfClient = c.get("caller").roles === undefined;
  if (isOfClient && numbers === undefined) await recordForClient(value, deps);
  else {
    const kind = isOfClient ? ("client-audit" as const) : ("audit" as const);
    const next = {
      kind,
      key: keyAt(once?.at ?? at) + id,
      version: deps.randomId(),
      value,
      expiresAt: at + deps.retentionMs,
    };
    const [isWritten] = await deps.documents.write([{ next, seen: null }]);
    if (isWritten !== true && once === undefined)
      throw new UnreachableError("the audit log did not store the entry");
  }
  log("info", "audit.recorded", {
    request_id: c.get("requestId"),
    token_id: by,
    reason: action,
    ...counted,
  });
}

/**
 * Counts a client's action together with equal ones of the same hour, because a client may repeat an action without
 * limit.
 */
async function recordForClient(value: Entry, deps: RouteDeps): Promise<void> {
  const { at, by, action, target, exposes } = value;
  const same = hash("sha256", JSON.stringify([by, action, target, exposes])).slice(0, 20);
  const name = {
    kind: "client-audit",
    key: keyAt(hourOf(at)) + same,
  } as const;
  const change = (current: Entry | undefined) => ({
    value: current === undefined ? value : sumOf(current, value),
    expiresAt: at + deps.retentionMs,
  });
  try {
    await changeDocument({ name, change }, deps);
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    // Another process has counted the same action at this moment, so the log has it.
    const read = await deps.documents.read([name]);
    if (read.get(name.kind, name.key) === undefined) {
      throw new UnreachableError("the audit log did not store the entry");
    }
  }
}

function sumOf(current: Entry, { at, count }: Entry): Entry {
  const times = (current.times ?? 1) + 1;
  const sum = (current.count ?? 0) + (count ?? 0);
  return { ...current, times, lastAt: at, ...(sum === 0 ? {} : { count: sum }) };
}
