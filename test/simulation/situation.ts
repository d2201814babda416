/** What an answer of a port says, as text can have it. */
export function toTell(result: unknown): unknown {
  if (typeof result !== "object" || result === null) return result;
  if ("rows" in result && result.rows instanceof Map) return [...result.rows.values()];
  if ("get" in result) return "documents";
  return result;
}

/** As text in which versions are named in their order: which of them is whose is all that matters. */
export function renamed(situation: unknown): string {
  const names = new Map<string, number>();
  return JSON.stringify(situation).replaceAll(/v#\d+;/g, (version) => {
    const name = names.get(version) ?? names.size;
    names.set(version, name);
    return `v${name}`;
  });
}
