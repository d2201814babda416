import { type Context, Hono } from "hono";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { UnreachableError } from "../port-limits.ts";
import { timeOf } from "./call-views.ts";
import { auditQuerySchema } from "./schemas.ts";
import { query } from "./validate.ts";

/** The audit log: what operators did, newest first. */
export function auditRoutes(deps: OperatorDeps) {
  return new Hono<ApiEnv>().get("/", query(auditQuerySchema), async (c) => {
    const { cursor, limit } = c.req.valid("query");
    const documents = await deps.documents();
    const found = await documents.list("audit", {
      after: cursor?.replace("~", "#"),
      limit,
      descending: true,
    });
    const entries = found.map(({ value: { at, by, act, target, count = null } }) => ({
      at: timeOf(at),
      by,
      act,
      target,
      count,
    }));
    const last = found.at(-1)?.key.replace("#", "~");
    return c.json({ entries, ...(found.length < limit ? {} : { cursor: last }) });
  });
}

/**
 * Writes down what an operator is about to do: nothing is done that does not stand in the audit log.
 *
 * @param target the call, agent, account, request or breaker that it is done to; never a number
 * @param count how many it concerns
 */
export async function record(
  c: Context<ApiEnv>,
  deps: OperatorDeps,
  act: string,
  target: string,
  count?: number,
): Promise<void> {
  const { clock, log } = deps;
  const at = clock.now();
  const by = c.get("caller").tokenId;
  const id = deps.randomId();
  const counted = count === undefined ? {} : { count };
  const documents = await deps.documents();
  const next = {
    kind: "audit" as const,
    key: `${String(at).padStart(15, "0")}#${id}`,
    version: id,
    value: { at, by, act, target, ...counted },
    expiresAt: at + deps.retentionMs,
  };
  const [isWritten] = await documents.write([{ next, seen: null }]);
  if (isWritten !== true) throw new UnreachableError("the audit log took no entry");
  log("info", "operator.acted", {
    request_id: c.get("requestId"),
    token_id: by,
    reason: act,
    ...counted,
  });
}
