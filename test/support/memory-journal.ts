import type { Journal } from "#shared/ports/journal.ts";

/** Creates a journal in memory. */
export function createMemoryJournal(entries = new Map<string, string>()): Journal {
  return {
    append: async (name, body) => void entries.set(name, body),
    list: async ({ after = "", limit }) =>
      [...entries.keys()]
        .filter((name) => name > after)
        .toSorted()
        .slice(0, limit),
    read: async (name) => entries.get(name),
    remove: async (names) => names.forEach((name) => entries.delete(name)),
  };
}
