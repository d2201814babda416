/** A value of an answer: what it is, the service says. */
export type Json = Record<string, unknown>;

/** The object that a text is as JSON; undefined where it is none. */
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

/** An object of an answer; empty where the answer has none of the name. */
export function objectIn(answer: Json, name: string): Json {
  const value = answer[name];
  return isObject(value) ? value : {};
}

/** The objects of a list of an answer; none where it has no such list. */
export function listIn(answer: Json | undefined, name: string): Json[] {
  const value = answer?.[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A value as people read it. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
