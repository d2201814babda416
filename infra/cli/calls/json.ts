import { shownText } from "#shared/lib/shown-text.ts";

/** A row of a table, or a line of JSON. */
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

/** Formats a value for people, in one line: the end of a line within it could make it look like several. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return shownText(text)
    .replaceAll(/\r?\n/g, String.raw`\n`)
    .replaceAll("\t", " ");
}
