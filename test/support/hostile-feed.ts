/**
 * Feeds the API, in this process, the largest possible bodies with the most possible errors, and prints the
 * answers and the heap in use after each round. It runs in a process of its own, so that its heap can be
 * limited.
 */
import { createTestApi } from "./api.ts";
import { tokens } from "./environment.ts";
import { filled, largeBatches, required } from "./large-batches.ts";
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
  for (const [name, bodyOf] of Object.entries(largeBatches)) {
    await feed(name, "/v1/calls/batch", bodyOf(round));
  }
  if (gc === undefined) throw new Error("run it with --expose-gc");
  await gc({ execution: "async" });
  heapBytes.push(process.memoryUsage().heapUsed);
}
const fed: FedApi = { answers: Object.fromEntries(answers), heapBytes };
console.log(JSON.stringify(fed));
