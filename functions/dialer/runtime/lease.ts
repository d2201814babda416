import { errorForLog } from "#shared/lib/log.ts";
import { clockErrorMsMax } from "#shared/lib/timing.ts";
import type { Kind, StoredDocument } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "./context.ts";

/** A lease as it is stored, and the maximum time that such a lease may last when it is taken. */
interface StoredLease {
  name: "sweep" | "upkeep" | "dispatcher" | "receiver";
  until: number;
  lifeMs: number;
}

/**
 * True if a lease is void: it ends later than any such lease may, so the clock of its holder is wrong. It would stop
 * its work until then. The store's clock decides which clock is wrong; if it is this process's, the lease is not
 * void. Do not use this for claims, caps, live calls or permits: those represent phones that may have rung.
 */
export async function isLeaseVoid(
  { name, until, lifeMs }: StoredLease,
  { documents, clock, log }: Pick<DialerDeps, "documents" | "clock" | "log">,
): Promise<boolean> {
  const askedAt = clock.now();
  if (until <= askedAt + lifeMs + clockErrorMsMax) return false;
  const fields = { lease: name, due_at: new Date(until).toISOString() };
  try {
    const storeAt = await documents.storeTime();
    if (storeAt < askedAt - clockErrorMsMax || storeAt > clock.now() + clockErrorMsMax) {
      log("alarm", "clock.wrong", { ...fields, ms: askedAt - storeAt });
      return false;
    }
  } catch (error) {
    log("warning", "clock.unchecked", { ...fields, error: errorForLog(error) });
    return false;
  }
  log("alarm", "lease.void", { ...fields, ms: until - askedAt });
  return true;
}

/** True while another invocation holds a lease, unless its clock was wrong when it took it. */
export async function isLeaseHeld(
  lease: StoredLease,
  deps: Pick<DialerDeps, "documents" | "clock" | "log">,
): Promise<boolean> {
  return lease.until > deps.clock.now() && !(await isLeaseVoid(lease, deps));
}

/**
 * Writes the document of a lease over the version that was read: to take the lease, to renew it, or to end it.
 *
 * @param seen the version. Null: there was no document
 * @returns undefined if another invocation has written it since
 */
export async function writeLease<K extends Kind>(
  lease: Omit<StoredDocument<K>, "version">,
  seen: string | null,
  { documents, random }: Pick<DialerDeps, "documents" | "random">,
): Promise<StoredDocument<K> | undefined> {
  const next = { ...lease, version: random.version() };
  const [isMine] = await documents.write([{ next, seen }]);
  return isMine === true ? next : undefined;
}
