import { createHash, createHmac } from "node:crypto";
import type { Context } from "hono";
import { errorForLog } from "../../shared/log.ts";
import type { ApiSettings } from "../../shared/settings.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import type { ApiDeps, ApiEnv } from "./app.ts";
import { problem, type ProblemError, unprocessable } from "./problem.ts";

/** How long an Idempotency-Key stands for the request that brought it. */
const keyLifetimeMs = 24 * 60 * 60 * 1000;
const ledgerSecondsMax = 5; // with two sends of 10 s it stays within what a gateway waits

/**
 * The seed that this request's call ids are made of and when it was first sent, or the answer that ends it. Without an
 * `Idempotency-Key` the seed is random; with one, it is what the key's first request was given, whose id this one has
 * from then on: its calls are that request's, are as old as it, and are cancelled with it.
 *
 * A request that the plan refuses binds no key. A repeat of one that was accepted is let through even where
 * the plan has changed since: its calls are on the queue, and the dialer decides about them.
 *
 * @param refusals what the plan says against the request
 */
export async function seedOf(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  { hashKey }: ApiSettings,
  path: string,
  refusals: ProblemError[],
  now: number,
): Promise<{ seed: string; firstAt: number } | Response> {
  const seed = `${deps.randomId()} ${c.get("requestId")} ${now}`;
  const header = c.req.header("idempotency-key");
  if (header === undefined) {
    return refusals.length > 0 ? unprocessable(c, refusals) : { seed, firstAt: now };
  }
  if (!/^[\x20-\x7e]{1,255}$/.test(header)) {
    const detail = "must be 1 to 255 printable ASCII characters";
    return unprocessable(c, [{ header: "Idempotency-Key", detail }]);
  }

  // Not under HASH_KEY: once that is rotated, a repeat must still meet its key (and be refused by its
  // fingerprint), not start anew and call everybody twice.
  const key = createHash("sha256")
    .update(JSON.stringify([c.get("caller").client, header]))
    .digest("hex");
  const fingerprint = createHmac("sha256", hashKey)
    .update(`POST ${path}\n`)
    .update(c.get("body"))
    .digest("hex");
  const stand = async () => {
    const ledger = await deps.ledger();
    if (refusals.length > 0) return ledger.readKey(key, now);
    return ledger.bindKey(key, { fingerprint, seed }, now, now + keyLifetimeMs);
  };
  try {
    const standing = await withTimeLimit(stand(), ledgerSecondsMax);
    if (standing === undefined) return unprocessable(c, refusals);
    if (standing.fingerprint === fingerprint) {
      const [, requestId = c.get("requestId"), firstAt = now] = standing.seed.split(" ");
      c.set("requestId", requestId);
      c.header("x-request-id", requestId);
      return { seed: standing.seed, firstAt: Number(firstAt) };
    }
  } catch (error) {
    const request_id = c.get("requestId");
    deps.log("alarm", "ledger.unreachable", { request_id, error: errorForLog(error) });
    const detail = "The ledger cannot be reached. Nothing was accepted: send the request again.";
    return problem(c, 503, detail, { headers: { "retry-after": "5" } });
  }
  const detail = "was used for another request in the last 24 hours";
  return unprocessable(c, [{ header: "Idempotency-Key", detail }]);
}
