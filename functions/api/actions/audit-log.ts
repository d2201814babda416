import type { Context } from "hono";
import * as z from "../../../shared/lib/zod.ts";
import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { UnreachableError } from "../http/port-limits.ts";
import { foreignCursor } from "../http/cursors.ts";
import { limit, nextCursor, time, toIsoTime } from "../http/fields.ts";
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
export type Audit = z.infer<typeof auditSchema>;

const listAudit = declareRoute({
  operationId: "listAudit",
  summary: "The audit log: what operators did, newest first",
  method: "get",
  path: "/audit",
  query: z.strictObject({
    /** The time and id of an entry, as in its key. */
    cursor: z.optional(z.string().check(z.regex(/^\d{15}~\w{1,60}$/, foreignCursor))),
    limit,
  }),
  answer: auditSchema,
  async handle({ deps, query }) {
    const { documents } = deps;
    const found = await documents.list("audit", {
      after: query.cursor?.replace("~", "#"),
      limit: query.limit,
      descending: true,
    });
    const entries = found.map(({ value }) => {
      const { at, count = null, reason = null, numbers = [], exposes = null } = value;
      const { by, action, target } = value;
      return { at: toIsoTime(at), by, action, target, count, reason, exposes, numbers };
    });
    const last = found.at(-1)?.key.replace("#", "~");
    return { entries, ...(found.length < query.limit ? {} : { cursor: last }) };
  },
});

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
}

/** A code for why numbers were added or removed. It has no digits, so that it cannot hold a number. */
export const reasonCode = z
  .string()
  .check(
    z.regex(/^[a-z][a-z_]{0,63}$/, "must be a word such as complaint: a to z and _, at most 64"),
    z.describe("Why, as one word of yours. It is kept in the audit log"),
  );

/** Digits of a hash that tell it from others: those of its key's name, and 64 bits. */
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
    const numbers = some.map((hash) => hash.slice(0, hashDigits));
    await recordAction(c, { ...action, count: some.length, numbers }, deps);
  }
}

/**
 * Writes an action into the audit log. Call it before the action: an action that is not in the log must not be
 * carried out.
 */
export async function recordAction(
  c: Context<ApiEnv>,
  { action, target, count, numbers, reason, exposes }: RecordedAction,
  deps: RouteDeps,
): Promise<void> {
  const { clock, log } = deps;
  const at = clock.now();
  const by = c.get("caller").tokenId;
  const id = deps.randomId();
  const counted = count === undefined ? {} : { count };
  const changed = {
    ...(numbers === undefined ? {} : { numbers }),
    ...(reason === undefined ? {} : { reason }),
    ...(exposes === undefined ? {} : { exposes }),
  };
  const { documents } = deps;
  const next = {
    kind: "audit" as const,
    key: `${String(at).padStart(15, "0")}#${id}`,
    version: id,
    value: { at, by, action, target, ...counted, ...changed },
    expiresAt: at + deps.retentionMs,
  };
  const [isWritten] = await documents.write([{ next, seen: null }]);
  if (isWritten !== true) throw new UnreachableError("the audit log took no entry");
  log("info", "audit.recorded", {
    request_id: c.get("requestId"),
    token_id: by,
    reason: action,
    ...counted,
  });
}
