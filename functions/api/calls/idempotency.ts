import { createHash, createHmac } from "node:crypto";
import type { Context } from "hono";
import type { Documents, StoredDocument } from "../../../shared/documents/documents.ts";
import type { ValueOf } from "../../../shared/documents/kinds.ts";
import { randomVersion } from "../../../shared/platform/random-id.ts";
import type { ApiSettings } from "../../../shared/platform/settings.ts";
import type { ApiDeps, ApiEnv } from "../context.ts";
import { causeForLog } from "../port-limits.ts";
import { problem, type ProblemError, unprocessable } from "../problem.ts";

/** How long an Idempotency-Key stands for the request that brought it. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000;

type KeyDocument = StoredDocument<"idempotency-key">;
type KeyValue = ValueOf<"idempotency-key">;

/** The request that calls belong to: this one, or the first one under its Idempotency-Key. */
export interface Origin {
  requestId: string;
  /** When that request was first accepted, in milliseconds since the epoch. */
  acceptedAt: number;
  isReplay: boolean;
}

/**
 * Finds the request that this one's calls belong to, or the answer that ends it. With an `Idempotency-Key` that is
 * the first request under the key: its calls have its ids, are as old as it, and are cancelled with it.
 *
 * A request that the plan refuses binds no key. A repeat of one that was accepted is let through even where
 * the plan has changed since: its calls are on the queue, and the dialer decides about them.
 *
 * @param refusals what the plan says against the request
 */
export async function originOf(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  { hashKey }: ApiSettings,
  path: string,
  refusals: ProblemError[],
  now: number,
): Promise<Origin | Response> {
  const own = { requestId: c.get("requestId"), acceptedAt: now };
  const header = c.req.header("idempotency-key");
  if (header === undefined) {
    return refusals.length > 0 ? unprocessable(c, refusals) : { ...own, isReplay: false };
  }
  if (!/^[\x20-\x7e]{1,255}$/.test(header)) {
    const detail = "must be 1 to 255 printable ASCII characters";
    return unprocessable(c, [{ header: "Idempotency-Key", detail }]);
  }
  const key = keyOf(c.get("caller").client, header);
  const fingerprint = fingerprintOf(path, c.get("body"), hashKey);
  let standing: KeyValue | undefined;
  try {
    const documents = await deps.documents();
    standing =
      refusals.length > 0
        ? await readKey(documents, key)
        : await bindKey(documents, {
            kind: "idempotency-key",
            key,
            version: randomVersion(deps.randomId()),
            value: { fingerprint, ...own },
            expiresAt: now + keyLifetimeMs,
          });
  } catch (error) {
    const fields = { request_id: own.requestId, error: causeForLog(error) };
    deps.log("alarm", "ledger.unreachable", fields);
    const detail = "The ledger cannot be reached. Nothing was accepted: send the request again.";
    return problem(c, 503, detail, { headers: { "retry-after": "5" } });
  }
  if (standing === undefined) return unprocessable(c, refusals);
  if (standing.fingerprint !== fingerprint) {
    const detail = "was used for another request in the last 24 hours";
    return unprocessable(c, [{ header: "Idempotency-Key", detail }]);
  }
  const { requestId, acceptedAt } = standing;
  return { requestId, acceptedAt, isReplay: requestId !== own.requestId };
}

/**
 * Names a client's key. Not by HASH_KEY: once that is rotated, a repeat must still meet its key (and be refused by its
 * fingerprint), and not start anew and call everybody twice.
 */
function keyOf(client: string, header: string): string {
  return createHash("sha256")
    .update(JSON.stringify([client, header]))
    .digest("hex");
}

/** Stands for a request's path and bytes, whatever the plan says of them. */
function fingerprintOf(path: string, body: Uint8Array, hashKey: string): string {
  return createHmac("sha256", hashKey).update(`POST ${path}\n`).update(body).digest("hex");
}

async function readKey(documents: Documents, key: string): Promise<KeyValue | undefined> {
  const read = await documents.read([{ kind: "idempotency-key", key }]);
  return read.get("idempotency-key", key)?.value;
}

/**
 * Binds a key where it is free; answers with what it is bound to. A write whose answer was lost is read back once: it
 * counts as done where the key is found bound.
 *
 * @throws where it is not known whether the key is bound
 */
async function bindKey(documents: Documents, next: KeyDocument): Promise<KeyValue> {
  let failure: unknown = new Error("a key was refused that is not bound");
  try {
    const [isBound] = await documents.write([{ next, seen: null }]);
    if (isBound === true) return next.value;
  } catch (error) {
    failure = error;
  }
  const standing = await readKey(documents, next.key);
  if (standing === undefined) throw failure;
  return standing;
}
