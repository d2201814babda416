/** Returns an answer of a port in a form that JSON can represent. */
export function toTell(result: unknown): unknown {
  if (typeof result !== "object" || result === null) return result;
  if ("rows" in result && "get" in result) return result.rows;
  if ("get" in result) return "documents";
  return result;
}

/**
 * Returns the situation as text in which versions are numbered in order of appearance, as only their identity
 * matters.
 */
export function renamed(situation: unknown): string {
  const names = new Map<string, number>();
  return JSON.stringify(situation).replaceAll(/v#\d+;/g, (version) => {
    const name = names.get(version) ?? names.size;
    names.set(version, name);
    return `v${name}`;
  });
}
