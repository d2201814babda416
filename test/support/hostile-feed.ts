/**
 * Feeds the API, in this process, the largest possible bodies with the most possible errors, and prints the
 * answers and the heap in use after each round. It runs in a process of its own, so that its heap can be
 * limited.
 */
import { createTestApi } from "./api.ts";
import { tokens } from "./environment.ts";
import { nested } from "./nested.ts";
import { jsonRequest } from "./json-request.ts";

/** The output of this process, as JSON. */
export interface FedApi {
  /** Answers to each body of the last round, by the body's name. */
  answers: Record<string, { status: number; bytes: number; errors: number }>;
  /** Bytes of heap in use after each round, after a garbage collection. */
  heapBytes: number[];
}

const rounds = 2;
/** A batch is checked up to its hundredth error, so that a leak per call shows only over many batches. */
const batchesOfZones = 100;
const singleBytes = 64 * 1024;
const batchBytes = 4 * 1024 * 1024;
const required = '"phone_number":"+12025550123","agent_id":"agent_sales"';

/** Returns as many parts as fit between two ends. */
function filled(bytes: number, start: string, end: string, part: (n: number) => string): string {
  const parts: string[] = [];
  let left = bytes - start.length - end.length;
  for (let n = 0; ; n++) {
    const next = part(n);
    left -= next.length + 1;
    if (left < 0) return start + parts.join(",") + end;
    parts.push(next);
  }
}

/** Bodies by name. Their contents differ from round to round, so that no cache helps. */
const singles: Record<string, (round: number) => string> = {
  "a call of arrays": () => nested(singleBytes / 2),
  "a call of objects": () => nested(10_000, '{"a":', "}", "1"),
  "a call of unknown fields": (round) =>
    filled(singleBytes, `{${required},`, "}", (n) => `"f${round}_${n}":0`),
  "a call of one unknown field again and again": () =>
    filled(singleBytes, `{${required},`, "}", () => '"f":0'),
  "a context of wrong values": (round) =>
    filled(singleBytes, `{${required},"context":{`, "}}", (n) => `"k${round}_${n}":0`),
  "a context of deep values": () =>
    filled(singleBytes, `{${required},"context":{`, "}}", (n) => `"k${n}":${nested(300)}`),
  "a time zone as long as the body": (round) =>
    `{${required},"timezone":"${`${round}`.repeat(65_000)}"}`,
};
const batches: Record<string, (round: number) => string> = {
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
  "calls that are right": (round) => {
    const call = (n: number) => `{${required},"context":{"a":"${round} ${n} ${"x".repeat(350)}"}}`;
    return filled(batchBytes, "[", "]", call);
  },
  "a body that never ends": () => "[".repeat(batchBytes),
};

const { app, queue, events } = createTestApi();
const answers = new Map<string, FedApi["answers"][string]>();
const heapBytes: number[] = [];

async function feed(name: string, path: string, text: string): Promise<void> {
  const sent = new TextEncoder().encode(text);
  const response = await app.request(path, jsonRequest(tokens.crm, "POST", sent));
  const answer = await response.text();
  const { errors = [] }: { errors?: unknown[] } = answer === "" ? {} : JSON.parse(answer);
  const bytes = Buffer.byteLength(answer);
  answers.set(name, { status: response.status, bytes, errors: errors.length });
  queue.take();
  events.length = 0;
}

for (let round = 1; round <= rounds; round++) {
  for (let n = 0; n < batchesOfZones; n++) {
    const call = (_: unknown, at: number) =>
      `{${required},"timezone":"Zone/${round}_${n}_${at}_${"x".repeat(40)}"}`;
    const body = `[${Array.from({ length: 100 }, call).join(",")}]`;
    await feed("time zones that there are not", "/v1/calls/batch", body);
  }
  for (const [name, bodyOf] of Object.entries(singles))
    await feed(name, "/v1/calls", bodyOf(round));
  for (const [name, bodyOf] of Object.entries(batches)) {
    await feed(name, "/v1/calls/batch", bodyOf(round));
  }
  if (gc === undefined) throw new Error("run it with --expose-gc");
  await gc({ execution: "async" });
  heapBytes.push(process.memoryUsage().heapUsed);
}
const fed: FedApi = { answers: Object.fromEntries(answers), heapBytes };
console.log(JSON.stringify(fed));
