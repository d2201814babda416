import type { Call } from "./types.ts";

/** Most calls of one request, and most bytes of its body: limits of the service, by which `placeCalls` splits. */
export const partLimits = { calls: 10_000, bytes: 4 * 1024 * 1024 };

/** Returns the key under which a part of a list is sent. */
export function partKeyOf(idempotencyKey: string, index: number): string {
  return `${idempotencyKey}.${index}`;
}

/**
 * Splits calls into bodies of at most so many calls and bytes. The split depends on nothing but the calls and the limits: a
 * repeated list has the same parts.
 */
export function splitCalls(calls: readonly Call[], limits: typeof partLimits) {
  const encoder = new TextEncoder();
  const parts: { from: number; texts: string[]; bytes: number }[] = [];
  for (const [index, call] of calls.entries()) {
    const text = JSON.stringify(call);
    const bytes = encoder.encode(text).length + 1; // and its comma or bracket
    const last = parts.at(-1);
    if (
      last === undefined ||
      last.texts.length >= limits.calls ||
      last.bytes + bytes > limits.bytes
    ) {
      parts.push({ from: index, texts: [text], bytes: bytes + 1 });
    } else {
      last.texts.push(text);
      last.bytes += bytes;
    }
  }
  if (parts.length === 0) parts.push({ from: 0, texts: [], bytes: 2 }); // the service refuses it
  return parts.map(({ from, texts }) => ({ from, count: texts.length, text: `[${texts.join()}]` }));
}
