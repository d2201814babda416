import { findJsonFault, placeIn } from "../lib/json-fault.ts";

/** One token of JSON: a string, or a bracket, comma or colon outside of strings. */
const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * Parses a dial plan as a person wrote it. An object that has a name twice is refused: the parser would take the last value
 * alone, and an agent or an arm would be missing without a word.
 *
 * @throws an Error that says what is wrong, to follow the plan's name; it quotes nothing but names
 */
export function parsePlanJson(text: string): unknown {
  const fault = findJsonFault(text);
  if (fault !== undefined) throw new Error(`is not JSON: ${placeIn(text, fault)}`);
  const repeated = findRepeatedName(text);
  if (repeated !== undefined) throw new Error(`has ${repeated} twice`);
  return JSON.parse(text);
}

/** Returns the path of the first name that its object has before, in a text that is JSON. */
function findRepeatedName(text: string): string | undefined {
  const around: { names: Set<string>; latest: string }[] = [];
  let former = "";
  for (const [part] of text.matchAll(token)) {
    if (part === "{" || part === "[") around.push({ names: new Set(), latest: "" });
    else if (part === "}" || part === "]") around.pop();
    else if (part === ":") {
      const object = around.at(-1);
      const name = String(JSON.parse(former));
      if (object?.names.has(name)) {
        return [...around.slice(0, -1).map(({ latest }) => latest), name]
          .filter((one) => one !== "")
          .join(".");
      }
      object?.names.add(name);
      if (object !== undefined) object.latest = name;
    }
    former = part;
  }
  return undefined;
}
