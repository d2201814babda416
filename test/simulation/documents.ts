import type { Documents } from "#shared/ports/documents.ts";
import type { Kind, StoredText } from "#shared/ports/document-kinds.ts";
import { createMemoryDocuments } from "../support/memory-documents.ts";
import { ask, pollEach, type Faults } from "./outside.ts";
import type { World } from "./world.ts";

/** A document as it was once written. `json` is null where it was removed, and of kinds of which the times alone are kept. */
export interface DocumentVersion {
  kind: Kind;
  key: string;
  at: number;
  json: string | null;
  expiresAt: number | null;
}

/** Kinds whose versions are kept for the rules that they decide, and those of which the times alone are. */
const keptKinds: ReadonlySet<Kind> = new Set(["breaker", "pause"]);
const timedKinds: ReadonlySet<Kind> = new Set(["sweep", "upkeep"]);

/** The documents of the simulated world, in memory. */
export function createSimulatedDocuments(world: World) {
  const stored = new Map<string, StoredText>();
  const memory = createMemoryDocuments(world.now, world.version, stored);
  /** Every version of every document of these kinds, oldest first. */
  const versions: DocumentVersion[] = [];
  const keep = (kind: Kind, key: string) => {
    if (timedKinds.has(kind)) {
      versions.push({ kind, key, at: world.now(), json: null, expiresAt: null });
    }
    if (!keptKinds.has(kind)) return;
    const { json = null, expiresAt = null } = stored.get(`${kind} ${key}`) ?? {};
    versions.push({ kind, key, at: world.now(), json, expiresAt });
  };
  return {
    stored,
    memory,
    versions,
    /** Returns the documents as a function reaches them, with faults. */
    reach(faults: () => Faults): Documents {
      const one = <Result>(what: string, effect: () => Promise<Result>) =>
        ask(world, faults(), what, effect);
      return {
        read: (keys) => one("documents", () => memory.read(keys)),
        write: (changes) =>
          pollEach(world, faults(), `write ${changes[0]?.next.kind}`, changes, async (change) => {
            const [isWritten] = await memory.write([change]);
            const { kind, key, value } = change.next;
            if (isWritten === true) keep(kind, key);
            world.note(`write ${isWritten} ${kind} ${key.slice(0, 40)} ${JSON.stringify(value)}`);
            return isWritten === true;
          }),
        add: (document, counters, expiresAt) =>
          one("add", () => memory.add(document, counters, expiresAt)),
        addAll: (additions) => one("add", () => memory.addAll(additions)),
        exchange: (document, exchange) =>
          one("exchange", () => memory.exchange(document, exchange)),
        list: (kind, query) => one("list documents", () => memory.list(kind, query)),
        listByPrefix: (kind, query) =>
          one("list documents", () => memory.listByPrefix(kind, query)),
        remove: (keys) =>
          one("remove", async () => {
            await memory.remove(keys);
            for (const { kind, key } of keys) keep(kind, key);
          }),
        storeTime: () => one("time", () => memory.storeTime()),
        takePermits: (document, pace, request) =>
          one(`permits ${document.kind}`, () => memory.takePermits(document, pace, request)),
        purge: (after) => one("purge documents", () => memory.purge(after)),
      };
    },
  };
}
