import type { Environment } from "../settings/settings.ts";

/**
 * Gathers token entries that have a secret each, such as `API_TOKENS_CRM`, into the one variable that is read. On
 * Cloudflare a secret is never shown again, so that an entry could not be added to a list of unknown others. An entry
 * of its own replaces one of the same id in the list. Text that is no JSON is passed on, and nobody is let in.
 */
export function withGatheredTokens(environment: Environment): Environment {
  return {
    ...environment,
    ...gathered(environment, "API_TOKENS"),
    ...gathered(environment, "OPERATOR_TOKENS"),
  };
}

function gathered(environment: Environment, variable: string): Environment {
  const own = Object.keys(environment)
    .filter((name) => name.startsWith(`${variable}_`))
    .toSorted();
  if (own.length === 0) return {};
  const byId = new Map<unknown, unknown>();
  for (const name of [variable, ...own]) {
    const text = environment[name];
    if (!text) continue;
    try {
      for (const entry of [JSON.parse(text) as unknown].flat()) byId.set(idOf(entry), entry);
    } catch {
      return { [variable]: text };
    }
  }
  return { [variable]: JSON.stringify([...byId.values()]) };
}

/** Returns an entry's id; the entry itself, which equals no other, where it has none and is to be found wrong. */
function idOf(entry: unknown): unknown {
  return typeof entry === "object" && entry !== null && "id" in entry ? entry.id : entry;
}
