import { nested } from "./nested.ts";

/** The fields that a call must have, as members of JSON. */
export const required = '"phone_number":"+12025550123","agent_id":"agent_sales"';
const batchBytes = 4 * 1024 * 1024;

/** Returns as many parts as fit between two ends. */
export function filled(
  bytes: number,
  start: string,
  end: string,
  part: (n: number) => string,
): string {
  const parts: string[] = [];
  let left = bytes - start.length - end.length;
  for (let n = 0; ; n++) {
    const next = part(n);
    left -= next.length + 1;
    if (left < 0) return start + parts.join(",") + end;
    parts.push(next);
  }
}

/** Returns as many calls as fit, each with entries of its context. */
function contexts(entry: (n: number, at: number) => string, entries = 100): string {
  const one = (n: number) =>
    Array.from({ length: entries }, (_, at) => entry(n * entries + at, at)).join(",");
  return filled(batchBytes, "[", "]", (n) => `{${required},"context":{${one(n)}}}`);
}
/** A name that no other entry has. */
const nameOf = (round: number, n: number) => `${round}${n.toString(36)}`;

/**
 * The largest batches by name: those that are right, and the worst of those that are not. Their contents differ from round to round,
 * so that no cache helps.
 */
export const largeBatches: Record<string, (round: number) => string> = {
  "two million arrays, one in another": () => nested(batchBytes / 2),
  "objects, one in another": () => nested(batchBytes / 6 - 1, '{"a":', "}", "1"),
  "a million arrays": () => filled(batchBytes, "[", "]", () => "[]"),
  "a million objects": () => filled(batchBytes, "[", "]", () => "{}"),
  "two million numbers": (round) => filled(batchBytes, "[", "]", () => String(round)),
  "ten thousand numbers": () => `[${Array(10_000).fill(0).join(",")}]`,
  // Fewer than 10,000 calls: otherwise no call would be checked.
  "half a million wrong values": (round) => {
    const call = filled(450, '{"context":{', "}}", (n) => `"k${n}":${round}`);
    return filled(batchBytes, "[", "]", () => call);
  },
  "a call of a third of a million unknown fields": (round) =>
    filled(batchBytes, `[{${required},`, "}]", (n) => `"f${round}_${n}":0`),
  "a context of a third of a million entries": (round) =>
    filled(batchBytes, `[{${required},"context":{`, "}}]", (n) => `"k${round}_${n}":0`),
  "the key __proto__ again and again": () =>
    filled(batchBytes, `[{${required},"context":{`, "}}]", () => '"__proto__":{}'),
  "a string as long as the body": () =>
    `[{${required},"context":{"a":"${"\\u0000".repeat(batchBytes / 6 - 50)}"}}]`,
  "a key as long as the body": (round) => `[{${required},"${`${round}`.repeat(4_000_000)}":0}]`,
  "ten thousand calls of an unknown field each": (round) => {
    const call = (_: unknown, n: number) => `{${required},"f${round}_${n}":0}`;
    return `[${Array.from({ length: 10_000 }, call).join(",")}]`;
  },
  "objects as close together as the parser is left with": () =>
    filled(batchBytes, "[", "]", (n) => (n % 2 === 0 ? "{}" : `"${"x".repeat(48)}"`)),
  "an object of a third of a million names": (round) =>
    filled(batchBytes, "{", "}", (n) => `"${nameOf(round, n)}":""`),
  "contexts of a thousand names, of which no two are alike": (round) =>
    contexts((n) => `"${nameOf(round, n)}":""`, 1_000),
  "calls of empty lists, no more than they may have fields": () => {
    const lists = Array.from({ length: 199 }, (_, n) => `"${n}":[]`).join(",");
    return filled(batchBytes, "[", "]", () => `{${lists}}`);
  },
  "right: calls with the shortest entries": () => contexts((_, at) => `"${at.toString(36)}":""`),
  "right: calls with entries of which no two have one name": (round) =>
    contexts((n) => `"${nameOf(round, n)}":"${nameOf(round, n)}"`),
  "right: calls with a text": (round) => {
    const call = (n: number) => `{${required},"context":{"a":"${round} ${n} ${"x".repeat(350)}"}}`;
    return filled(batchBytes, "[", "]", call);
  },
  "a body that never ends": () => "[".repeat(batchBytes),
};
