/** Returns the position of the first character at which a text stops being JSON, or its length if more must follow. Undefined: it is JSON. */
export function findJsonFault(text: string): number | undefined {
  if (isJson(text)) return undefined;
  let [accepted, refused] = [0, text.length + 1];
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2);
    if (isBeginning(text.slice(0, middle))) accepted = middle;
    else refused = middle;
  }
  return accepted;
}

/** Returns a position in a text as a person counts it. */
export function placeIn(text: string, position: number): string {
  const lines = text.slice(0, position).split("\n");
  return `line ${lines.length} column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** Parses JSON. @throws an Error that says where the text of this name is not JSON, and quotes none of it */
export function parseJsonText(text: string, name: string): unknown {
  const fault = findJsonFault(text);
  if (fault !== undefined) throw new Error(`${name} is not JSON: ${placeIn(text, fault)}`);
  return JSON.parse(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** True if JSON may begin like this: V8 then reports the end, or a position at the end. Of most other faults it reports no position. */
function isBeginning(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const [end, position] =
      /Unexpected end of JSON input$|JSON at position (\d+)(?: \(.*\))?$/.exec(String(error)) ?? [];
    return end !== undefined && (position === undefined || Number(position) >= text.length);
  }
}
