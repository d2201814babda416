import { dayMs } from "../lib/units.ts";
import { changeDocument } from "../ports/change-document.ts";
import type { ValueOf } from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";
import type { StoredReceiver } from "../ports/receiver-kinds.ts";

/** Time for which the document of a client without receivers is kept. */
const emptyKeptMs = dayMs;

/** A client's own receiver as it stands since a change. Null: it was removed. */
interface KeptReceiver {
  client: string;
  name: string;
  value: StoredReceiver | null;
}

/** Puts a client's receivers into a document, which ends once there are none. */
export function toReceiversDocument(
  current: ValueOf<"receivers"> | undefined,
  receivers: Readonly<Record<string, StoredReceiver>>,
  now: number,
): { value: ValueOf<"receivers">; expiresAt: number | null } {
  const isEmpty = Object.keys(receivers).length === 0;
  const expiresAt = isEmpty ? now + emptyKeptMs : null;
  return { value: { ...current, receivers: { ...receivers } }, expiresAt };
}

/** Writes a client's receiver as the journal has it: events would go to one that was removed, or under a former secret. */
export async function replayReceiver(
  { client, name, value }: KeptReceiver,
  deps: {
    documents: Documents;
    clock: { now(): number };
    random: { version(): string };
  },
): Promise<void> {
  await changeDocument(
    {
      name: { kind: "receivers", key: client },
      change(current) {
        const { [name]: _, ...others } = current?.receivers ?? {};
        const receivers = value === null ? others : { ...others, [name]: value };
        return toReceiversDocument(current, receivers, deps.clock.now());
      },
    },
    deps,
  );
}
