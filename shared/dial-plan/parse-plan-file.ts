import { parsePlanJson } from "./parse-plan-json.ts";

/** One string, or what other formats allow and JSON does not: a comment, or a comma before the end of a list. */
const foreign = /"(?:[^"\\]|\\.)*"|\/[/*]|,(?=\s*[}\]])/g;

/**
 * Parses a dial plan from a file for commands, and says where it is not JSON. The bundles of the service leave this out.
 *
 * @throws an Error that says what is wrong, to follow the file's name; it quotes nothing but names
 */
export function parsePlanFile(text: string): unknown {
  let message = "";
  try {
    JSON.parse(text);
  } catch (error) {
    message = String(error);
  }
  // The parser's message, which would quote the text, is not passed on.
  if (message !== "") throw new Error(`is not JSON${describeFault(text, message)}`);
  return parsePlanJson(text);
}

/** Returns the place of the first fault by line and column, if it is found, and names a comment or a trailing comma. */
function describeFault(text: string, message: string): string {
  const [, position] = /position (\d+)/.exec(message) ?? [];
  const end = Number(position ?? text.length);
  const found = [...text.matchAll(foreign)].find(
    ({ 0: part, index }) => !part.startsWith('"') && index <= end,
  );
  if (position === undefined && found === undefined) return "";
  const lines = text.slice(0, found?.index ?? end).split("\n");
  const place = `: line ${lines.length} column ${(lines.at(-1)?.length ?? 0) + 1}`;
  if (found === undefined) return place;
  return `${place} has ${found[0] === "," ? "a trailing comma" : "a comment"}`;
}
