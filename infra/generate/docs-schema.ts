import type { Json } from "./json-schema.ts";

/** Escapes a text for HTML, in elements and in quoted attributes. */
export const escaped = (text: unknown) =>
  String(text).replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Makes a table with a caption. Its rows, each a name and a text, are HTML. */
export function tableOf(caption: string, rows: readonly Row[]): string {
  if (rows.length === 0) return "";
  const lines = rows.map(([name, text]) => `<tr><th scope="row">${name}</th><td>${text}</td></tr>`);
  return `<table><caption>${escaped(caption)}</caption>${lines.join("")}</table>`;
}
export type Row = readonly [name: string, text: string];

/** Returns the row of a field or parameter: its name, then what is noted of it, and its description. */
export function rowOf(name: string, notes: readonly string[], description: unknown): Row {
  const text = notes.join(", ");
  const told = description === undefined ? text : `${text}<br>${escaped(description)}`;
  return [`<code>${escaped(name)}</code>`, told];
}

export const needOf = (isRequired: boolean) => (isRequired ? "required" : "optional");

/** Returns the rows of a schema's fields, and of the fields within them. */
export function fieldRows(schema: unknown, prefix = ""): Row[] {
  const { properties = {}, required = [], type, items } = Object(schema);
  if (type === "array") return fieldRows(items, `${prefix}[].`);
  return Object.entries(properties).flatMap(([name, field]): Row[] => {
    const { description, type: inner } = Object(field);
    const path = `${prefix}${name}`;
    const notes = [typeOf(field), needOf(required.includes(name))];
    return [
      rowOf(path, notes, description),
      ...fieldRows(field, inner === "array" ? path : `${path}.`),
    ];
  });
}

/** Returns the type of a schema in words, as HTML. Named schemas are links to their own sections. */
export function typeOf(schema: unknown): string {
  const { $ref, anyOf, type, items, additionalProperties, format, ...more }: Json = Object(schema);
  if (typeof $ref === "string") return linkTo("schema", nameIn($ref));
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(" or ");
  if (Array.isArray(more["enum"])) {
    return more["enum"].map((one) => `<code>${escaped(one)}</code>`).join(", ");
  }
  if (type === "array") return `array of ${typeOf(items)}`;
  const isMap = type === "object" && more["properties"] === undefined;
  if (isMap && Object(additionalProperties).type !== undefined) {
    return `${typeOf(additionalProperties)} by name`;
  }
  const types = Array.isArray(type) ? type.join(" or ") : (type ?? "any");
  return [types, format].filter(Boolean).map(escaped).join(", ");
}

/** Returns the last part of a reference, such as `Call` of `#/components/schemas/Call`. */
export const nameIn = (reference: string) => reference.split("/").at(-1) ?? "";

/** Kinds of sections. With its name they make a section's anchor. */
export type SectionKind = "operation" | "event" | "error" | "schema";
export const anchorOf = (kind: SectionKind, name: string) => escaped(`${kind}-${name}`);
export const linkTo = (kind: SectionKind, name: string, text = `<code>${escaped(name)}</code>`) =>
  `<a href="#${anchorOf(kind, name)}">${text}</a>`;
