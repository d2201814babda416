/** An object of an answer. The service defines its fields. */
export type Json = Record<string, unknown>;

/** Parses a text as a JSON object; undefined if it is none. */
export function jsonIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an object of an answer; empty if the answer has none of this name. */
export function objectIn(answer: Json, name: string): Json {
  const value = answer[name];
  return isObject(value) ? value : {};
}

/** Returns the objects of a list of an answer; empty if there is no such list. */
export function listIn(answer: Json | undefined, name: string): Json[] {
  const value = answer?.[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Formats a value for people. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
