import { randomUUID } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import { query } from "./cloudflare-resources.ts";
import type { Target } from "./cloudflare-target.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Times of the lease under which one run at a time sets secrets. */
export interface LeaseTimes {
  /** Life of a lease: longer than setting the secrets of two Workers takes. */
  seconds: number;
  /** Time between two tries to take it. */
  pauseMs: number;
}

const leaseTimes: LeaseTimes = { seconds: 120, pauseMs: 5000 };

/** Time of the database, so that no clock of a person's machine counts. */
const now = "(unixepoch() * 1000)";
const place = "kind = 'deployment' AND key = 'secrets'";
const owned = z.object({ version: z.string() });

/**
 * Does what sets HASH_KEY while no other run does. Cloudflare overwrites a secret without a condition, one Worker after the
 * other, so that two runs would leave two keys. The lease is a document of the ledger, which expires if a run is cut off.
 *
 * @param options.work reads which secrets stand, once nobody else changes them, and sets those that are absent
 * @throws DeployError if the work took longer than the lease, and another run has taken it: the keys may differ
 */
export async function withSecretsLease<Value>(
  tools: Tools,
  target: Target,
  { work, times = leaseTimes }: { work: () => Promise<Value>; times?: LeaseTimes | undefined },
): Promise<Value> {
  const run = randomUUID();
  const ask = (sql: string) => query(tools, target, { sql, row: owned });
  const take = `INSERT INTO documents (kind, key, version, expires_at, value)
    VALUES ('deployment', 'secrets', '${run}', ${now} + ${times.seconds * 1000}, '{}')
    ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, expires_at = excluded.expires_at
    WHERE documents.expires_at <= ${now} RETURNING version`;
  let isWaiting = false;
  while ((await ask(take)).length === 0) {
    if (!isWaiting) {
      tools.print(
        `Somebody else sets the secrets of this service, or was cut off: waiting ${times.seconds} s at most …`,
      );
    }
    isWaiting = true;
    await new Promise((next) => setTimeout(next, times.pauseMs));
  }
  const value = await work();
  const release = `DELETE FROM documents WHERE ${place} AND version = '${run}' RETURNING version`;
  if ((await ask(release)).length > 0) return value;
  throw new DeployError(
    `This run took longer than ${times.seconds} s to set the secrets, and another one has set them meanwhile. The two Workers ` +
      "may hold two keys, and then nobody is dialed (hash_key.missing). Agree on one of the keys that were shown or given, " +
      "set it for both by npm run secrets -- set HASH_KEY --replace. Set one EVENTS_KEY likewise: openssl rand -hex 32 | " +
      "npm run secrets -- set EVENTS_KEY. Then run this again.",
  );
}
