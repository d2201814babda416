import { sweepKey } from "#shared/policy/ledger-epoch.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import type { DocumentChange, Documents } from "#shared/ports/documents.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { sweptAt } from "./document-values.ts";

/** Writes the documents as a dialer leaves them that has swept and looked at this time. */
export async function putHeartbeats(documents: Documents, at: number): Promise<void> {
  const read = await documents.read([sweepKey, dispatcherKey]);
  const [sweep, dispatcher] = [
    read.get(sweepKey.kind, sweepKey.key),
    read.get(dispatcherKey.kind, dispatcherKey.key),
  ];
  const swept = sweptAt(at, { ...sweep?.value, fullRoundAt: at });
  const looked: DocumentChange<"dispatcher">["next"]["value"] = {
    holder: null,
    since: at,
    accounts: {},
    ...dispatcher?.value,
    beatAt: at,
    tickedAt: at,
  };
  const written = { version: randomVersion(), expiresAt: null };
  await documents.write([
    { next: { ...sweepKey, ...written, value: swept }, seen: sweep?.version ?? null },
    { next: { ...dispatcherKey, ...written, value: looked }, seen: dispatcher?.version ?? null },
  ]);
}
