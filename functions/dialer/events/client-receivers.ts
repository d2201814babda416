import type { CallRow } from "#shared/calls/call-row.ts";
import { realClientOf, clientNamed } from "#shared/calls/ids.ts";
import { findReceiverNamed, type Receiver, unreadName } from "#shared/dial-plan/receivers.ts";
import { clientReceiversOf, readClientReceivers } from "#shared/events/outbox-ledger.ts";
import { withoutGone } from "#shared/events/client-receiver-events.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import { type ClientReceiverHealth, parseClientReceiver } from "#shared/ports/receiver-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import {
  failuresMax,
  isGone,
  isTaken,
  nextProbeMs,
  type ReceiverHealth,
} from "./receiver-health.ts";

/** Returns what `clientReceiversOf` and its like need. */
export function clientReceiverDepsOf({
  settings,
  documents,
  clock,
  memory,
}: Pick<DialerDeps, "settings" | "documents" | "clock" | "memory">) {
  return { plan: settings.plan, documents, clock, knownReceivers: memory.knownReceivers };
}

/** Finds a receiver by its name: one of the dial plan, or a client's own. */
export async function findReceiverOf(
  name: string,
  deps: Pick<DialerDeps, "settings" | "clock" | "documents" | "memory">,
): Promise<Receiver | undefined> {
  const key = parseClientReceiver(name);
  if (key === undefined) return findReceiverNamed(name, deps.settings.plan);
  if (key.name === unreadName) return undefined;
  const own = clientReceiverDepsOf(deps);
  const client = clientNamed(key.client);
  await readClientReceivers([client], own);
  return clientReceiversOf(client, own).find((one) => one.name === name);
}

/**
 * Drops the deliveries to removed receivers from rows. The cache of this process may be a minute old, so it reads the
 * receivers again before it drops anything: a row may have events for a receiver that was made since.
 *
 * @returns the rows without them
 */
export async function dropGone(
  rows: readonly CallRow[],
  deps: Pick<DialerDeps, "ledger" | "documents" | "settings" | "clock" | "random" | "memory">,
): Promise<readonly CallRow[]> {
  const { ledger, random, memory } = deps;
  const own = clientReceiverDepsOf(deps);
  const without = (row: CallRow) => withoutGone(row, clientReceiversOf(row, own));
  const clients = new Set(rows.filter((row) => without(row) !== row).map(realClientOf));
  if (clients.size === 0) return rows;
  for (const client of clients) memory.knownReceivers.delete(client);
  await readClientReceivers([...clients].map(clientNamed), own);
  const kept = rows.map((row) =>
    memory.knownReceivers.get(realClientOf(row))?.isUnreadable === true ? row : without(row),
  );
  const changes = kept.flatMap((row, index) => {
    const seen = rows[index]?.version;
    if (row === rows[index] || seen === undefined) return [];
    return { next: { ...row, version: random.version() }, seen };
  });
  // A row that other writers change meanwhile is read again.
  if (changes.length > 0) await ledger.write(changes);
  return kept;
}

/**
 * Returns the health of a client's own receiver. Its lease's document keeps it, as only the holder of the lease posts
 * to the receiver. It raises no alarm and is in no operator's list: its client sees the failures.
 */
export function clientReceiverHealthIn(
  read: DocumentsRead,
  { name }: Pick<Receiver, "name">,
  { clock }: Pick<DialerDeps, "clock">,
): ReceiverHealth {
  let state: ClientReceiverHealth = read.get("receiver", name)?.value.health ?? { failures: 0 };
  const open = (interval: number) => {
    state = { ...state, probeAt: clock.now() + interval, intervalMs: interval };
    health.isDown = true;
  };
  const health: ReceiverHealth = {
    isDown: state.probeAt !== undefined,
    isProbeDue: state.probeAt !== undefined && state.probeAt <= clock.now(),
    // only the lease permits the write
    async takeProbe() {
      const nothing = () => undefined;
      return {
        take: async () => true,
        spend: nothing,
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
    async record(answer) {
      if (isTaken(answer)) {
        state = { failures: 0 };
        health.isDown = false;
        return;
      }
      state = { ...state, failures: state.failures + 1 };
      if (health.isDown) {
        // Several requests may be in progress when it opens: only the first failure of a turn sets the probe.
        if ((state.probeAt ?? 0) > clock.now()) return;
        open(nextProbeMs(state.intervalMs));
      } else if (state.failures >= failuresMax || isGone(answer)) {
        open(nextProbeMs());
      }
    },
    stored: () => ({ health: state.failures === 0 ? undefined : state }),
  };
  return health;
}
