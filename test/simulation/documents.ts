import type { Documents } from "../../shared/documents/documents.ts";
import { createMemoryDocuments } from "../support/memory-documents.ts";
import type { StoredText } from "../../shared/documents/stored-text.ts";
import { ask, askEach, type Faults } from "./outside.ts";
import type { World } from "./world.ts";

/** The documents of the simulated world, in memory. */
export function createSimulatedDocuments(world: World) {
  const stored = new Map<string, StoredText>();
  const memory = createMemoryDocuments(world.now, world.version, stored);
  return {
    stored,
    memory,
    /** Returns the documents as a function reaches them, with faults. */
    reach(faults: () => Faults): Documents {
      const one = <Result>(what: string, effect: () => Promise<Result>) =>
        ask(world, faults(), what, effect);
      return {
        read: (keys) => one("documents", () => memory.read(keys)),
        write: (changes) =>
          askEach(world, faults(), `write ${changes[0]?.next.kind}`, changes, async (change) => {
            const [isWritten] = await memory.write([change]);
            const { kind, key, value } = change.next;
            world.note(`write ${isWritten} ${kind} ${key.slice(0, 40)} ${JSON.stringify(value)}`);
            return isWritten === true;
          }),
        add: (document, counters, expiresAt) =>
          one("add", () => memory.add(document, counters, expiresAt)),
        list: (kind, query) => one("list documents", () => memory.list(kind, query)),
        remove: (keys) => one("remove", () => memory.remove(keys)),
        takePermits: (document, pace, count, window) =>
          one(`permits ${document.kind}`, () => memory.takePermits(document, pace, count, window)),
        purge: () => one("purge documents", () => memory.purge()),
      };
    },
  };
}
