import type { DeadLetters } from "#shared/ports/dead-letters.ts";

/**
 * Creates a store of dead letters in memory.
 *
 * @param letters the bodies by name, where a test sees and changes them
 */
export function createMemoryDeadLetters(
  letters = new Map<string, string>(),
  now: () => number = Date.now,
): DeadLetters {
  const letterOf = (name: string, body: string) => ({
    name,
    storedAt: now(),
    bytes: Buffer.byteLength(body),
  });
  return {
    store: async (name, body) => void letters.set(name, body),
    async list({ after = "", limit }) {
      const all = [...letters]
        .filter(([name]) => name > after)
        .toSorted(([one], [other]) => (one < other ? -1 : 1));
      const page = all.slice(0, limit).map(([name, body]) => letterOf(name, body));
      return { letters: page, ...(all.length > limit ? { next: page.at(-1)?.name } : {}) };
    },
    async read(name) {
      const body = letters.get(name);
      return body === undefined ? undefined : { ...letterOf(name, body), body };
    },
    remove: async (name) => void letters.delete(name),
  };
}
