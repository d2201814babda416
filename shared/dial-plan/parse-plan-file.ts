import { findJsonFault, placeIn } from "../lib/json-fault.ts";
import { parsePlanJson } from "./parse-plan-json.ts";

/** One string, or what other formats allow and JSON does not: a comment, or a comma before the end of a list. */
const foreign = /"(?:[^"\\]|\\.)*"|\/[/*]|,(?=\s*[}\]])/g;

/**
 * Parses a dial plan from a file for commands, and names a comment or a trailing comma. The bundles of the service leave this out.
 *
 * @throws an Error that says what is wrong, to follow the file's name; it quotes nothing but names
 */
export function parsePlanFile(text: string): unknown {
  const fault = findJsonFault(text);
  const found = [...text.matchAll(foreign)].find(
    ({ 0: part, index }) => !part.startsWith('"') && fault !== undefined && index <= fault,
  );
  if (found === undefined) return parsePlanJson(text);
  const what = found[0] === "," ? "a trailing comma" : "a comment";
  throw new Error(`is not JSON: ${placeIn(text, found.index)} has ${what}`);
}
