import type { Mode } from "#shared/calls/ids.ts";
import { createHash } from "node:crypto";
import type { Context } from "hono";
import type { CallHeaders } from "#shared/calls/call-request.ts";
import type { Guard } from "#shared/dial-plan/guards.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import type { KeyedHashes } from "#shared/lib/keyed-hashes.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { ApiDeps, ApiEnv } from "../http/context.ts";
import { causeForLog } from "../http/port-limits.ts";
import { answerProblem, type ProblemError, answerUnprocessable } from "../http/problem.ts";

/** Lifetime of an Idempotency-Key. */
export const keyLifetimeMs = 24 * 60 * 60 * 1000;

/** Platforms join two headers of one name by a comma, so a value with a comma may be two keys. */
export const keyPattern = /^[\x20-\x2b\x2d-\x7e]{1,255}$/;

type KeyDocument = StoredDocument<"idempotency-key">;
type KeyValue = ValueOf<"idempotency-key">;

/** The request that owns the calls: this one, or the first one under its Idempotency-Key. */
export interface Origin {
  requestId: string;
  /** Time at which that request was first accepted, in milliseconds since the epoch. */
  acceptedAt: number;
  isReplay: boolean;
  /** Gives the calls back to their client's guards if they cannot be put on the queue. Never rejects. */
  giveBack?(): Promise<void>;
}

/** A request, as far as its origin depends on it. */
export interface FreshRequest {
  /** Its headers that concern its calls. */
  headers: CallHeaders;
  requestId: string;
  client: string;
  mode: Mode;
  /** Number of its calls. */
  count: number;
  path: string;
  bytes: Uint8Array;
  /** Hash its fingerprint. */
  hashes: KeyedHashes;
  /** Limits of the client beside the plan's. */
  quota?: Guard | undefined;
  /** Errors of the request by the plan. */
  refusals: ProblemError[];
  /** Time of its acceptance, in milliseconds since the epoch. */
  at: number;
}

/**
 * Returns the request that owns this request's calls, or the answer that ends this request. With an
 * `Idempotency-Key`, the owner is the first request under the key: the calls have its ids and acceptance time, and
 * are cancelled with it. A request that the plan refuses binds no key. A repeat of an accepted request passes even if
 * the plan has changed since: its calls are on the queue, and the dialer decides about them.
 */
export async function findOrigin(
  c: Context<ApiEnv>,
  { requestId, client, path, bytes, headers, hashes, refusals, at }: FreshRequest,
  deps: Pick<ApiDeps, "documents" | "randomId" | "log">,
): Promise<Origin | Response> {
  const own = { requestId, acceptedAt: at };
  const header = c.req.header("idempotency-key");
  if (header === undefined) {
    return refusals.length > 0 ? answerUnprocessable(c, refusals) : { ...own, isReplay: false };
  }
  if (!keyPattern.test(header)) {
    const detail = "must be sent once, and be 1 to 255 printable ASCII characters without a comma";
    return answerUnprocessable(c, [{ header: "Idempotency-Key", detail }]);
  }
  const key = keyOf(client, header);
  const parts = toHash({ path, bytes, headers });
  const fingerprint = hashes.current(...parts);
  let current: KeyValue | undefined;
  try {
    const { documents } = deps;
    current =
      refusals.length > 0
        ? await readKey(documents, key)
        : await bindKey(documents, {
            kind: "idempotency-key",
            key,
            version: randomVersion(deps.randomId()),
            value: { fingerprint, ...own },
            expiresAt: at + keyLifetimeMs,
          });
  } catch (error) {
    return answerUnreachable(c, error, deps);
  }
  if (current === undefined) return answerUnprocessable(c, refusals);
  const isSame =
    current.fingerprint === fingerprint || hashes.each(...parts).includes(current.fingerprint);
  if (!isSame) {
    const detail = "was used for another request in the last 24 hours";
    return answerUnprocessable(c, [{ header: "Idempotency-Key", detail }]);
  }
  const isReplay = current.requestId !== requestId;
  return { requestId: current.requestId, acceptedAt: current.acceptedAt, isReplay };
}

/** Returns the hash of a request's key and its fingerprint; undefined if it has no key that may be one. */
export function readKeyOf(
  c: Context<ApiEnv>,
  { client, path, bytes, headers, hashes }: FreshRequest,
): { key: string; fingerprint: string } | undefined {
  const header = c.req.header("idempotency-key");
  if (header === undefined || !keyPattern.test(header)) return undefined;
  const fingerprint = hashes.current(...toHash({ path, bytes, headers }));
  return { key: keyOf(client, header), fingerprint };
}

/** Answers 503 to a request with a key, as the ledger did not answer. Of a repeat, an earlier one may have been accepted. */
export function answerUnreachable(
  c: Context<ApiEnv>,
  error: unknown,
  { log }: Pick<ApiDeps, "log">,
): Response {
  log("alarm", "ledger.unreachable", { request_id: c.get("requestId"), error: causeForLog(error) });
  const detail =
    "The ledger cannot be reached. This request was not accepted: send it again, under its Idempotency-Key if it has one.";
  return answerProblem(c, 503, { detail, headers: { "retry-after": "5" } });
}

/**
 * Names a client's key. The hash does not use HASH_KEY: after a rotation, a repeat must still find its key (and be
 * refused by its fingerprint) instead of calling everybody twice.
 */
function keyOf(client: string, header: string): string {
  return createHash("sha256")
    .update(JSON.stringify([client, header]))
    .digest("hex");
}

/** Returns what a request's fingerprint covers: its path, its bytes, and what its headers say of its calls, not the plan. */
function toHash({
  path,
  bytes,
  headers,
}: Pick<FreshRequest, "path" | "bytes" | "headers">): [string, Uint8Array] {
  const { notBefore, urgent, labels = {} } = headers;
  const said = [
    ...(notBefore === undefined ? [] : [`call-not-before: ${notBefore}\n`]),
    ...(urgent === undefined ? [] : ["call-priority: urgent\n"]),
    ...Object.entries(labels).map(([name, label]) => `call-${name}: ${label}\n`),
  ].join("");
  // No body begins with such a line, as it is JSON.
  return [`POST ${path}\n${said}`, bytes];
}

/** Returns the answer to a request whose calls were accepted, now or before. */
export function answerCreated({ requestId, isReplay }: Origin): Response {
  const headers: Record<string, string> = {
    "x-request-id": requestId,
    "content-length": "0", // without it, a server in Node uses chunked encoding
    "content-encoding": "identity", // without it, workerd's local server compresses even no body, to 20 bytes
  };
  if (isReplay) headers["idempotency-replayed"] = "true";
  return new Response(null, { status: 201, headers });
}

/** Finds the request that a client's key is bound to, whichever endpoint it was sent to. Undefined: none in its lifetime. */
export function findKey(
  documents: Documents,
  { client, key }: { client: string; key: string },
): Promise<{ requestId: string; acceptedAt: number } | undefined> {
  return readKey(documents, keyOf(client, key));
}

async function readKey(documents: Documents, key: string): Promise<KeyValue | undefined> {
  const read = await documents.read([{ kind: "idempotency-key", key }]);
  return read.get("idempotency-key", key)?.value;
}

/**
 * Binds a key if it is free, and resolves to the request that owns it. If the write's answer is lost, the key is read
 * once, and counts as bound if found.
 *
 * @throws if it is not known whether the key is bound
 */
async function bindKey(documents: Documents, next: KeyDocument): Promise<KeyValue> {
  let failure: unknown = new Error("the key was refused, but is not bound");
  try {
    const [isBound] = await documents.write([{ next, seen: null }]);
    if (isBound === true) return next.value;
  } catch (error) {
    failure = error;
  }
  const current = await readKey(documents, next.key);
  if (current === undefined) throw failure;
  return current;
}
