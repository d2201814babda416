import type { CallToolResult } from "@modelcontextprotocol/server";
import { findMeaning } from "#shared/rules/texts.ts";
import type { Json } from "../generate/json-schema.ts";

/** Returns an answer of the service as a tool's: its data, the same as text, and what its reasons mean. */
export function answerOf(data: Json): CallToolResult {
  const meanings = [...new Set(reasonsIn(data))].flatMap((reason) => {
    const meaning = findMeaning(reason);
    return meaning === undefined ? [] : `${reason}: ${meaning}`;
  });
  const texts = [JSON.stringify(data), ...(meanings.length === 0 ? [] : [meanings.join("\n")])];
  return {
    content: texts.map((text) => ({ type: "text", text })),
    structuredContent: data,
  };
}

/** Lists the reasons anywhere in an answer. */
function reasonsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(reasonsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    name === "reason" && typeof part === "string" ? part : reasonsIn(part),
  );
}
