/** Formats JSON as the formatter of the repository does: what fits on a line is on one, but not the whole. */
export function toJson(value: object, indent = ""): string {
  const deeper = `${indent}  `;
  const entries = Object.entries(value).map(([name, one]) => {
    const line = `${deeper}${JSON.stringify(name)}: ${inLine(one)}`;
    const isShort = line.length < 100 || !isObject(one);
    return isShort ? line : `${deeper}${JSON.stringify(name)}: ${toJson(one, deeper)}`;
  });
  return `{\n${entries.join(",\n")}\n${indent}}`;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function inLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inLine).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}: ${inLine(one)}`,
  );
  return `{ ${entries.join(", ")} }`;
}
