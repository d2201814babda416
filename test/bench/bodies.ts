/**
 * Measures what it costs to judge the structure of large bodies, beside decoding and parsing them, and the memory that
 * workerd takes for the largest bodies: those that are refused, and those that are right.
 */
import { readFile, writeFile } from "node:fs/promises";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { endpoints } from "#functions/api/calls/endpoints.ts";
import { findExcess, judgeStructure } from "#functions/api/http/json-structure.ts";
import { type BundledModule, bundleForWorkers } from "#infra/generate/workers.ts";
import { toMiniflare } from "#infra/local/bundles.ts";
import { tokens } from "../support/environment.ts";
import { jsonRequest } from "../support/json-request.ts";
import { workerdPids } from "./counted-cloudflare.ts";
import { type Costs, cpuOf, inTurns } from "./measure.ts";
import { report, table, times } from "./report.ts";

const batch = endpoints.find(({ path }) => path === "/v1/calls/batch");
if (batch?.structure === undefined) throw new Error("there is no structure of a batch");
const { structure, bytesMax, path } = batch;
const mebibyte = 1024 * 1024;

/** Target: the judging beside the parsing; memory of a refused body beside the body; memory of one that is right. */
const judgedMax = 0.3;
const refusedTimesMax = 3;
const acceptedMiBMax = 64;
/** Heap that the isolate may have for a body that is right, in MiB: with more, garbage is left to lie. */
const acceptedHeapMiB = 48;

const required = { phone_number: "+12025550123", agent_id: "agent_sales" };
/** Returns calls as JSON, at most ten thousand and as many as fit into the largest body. */
function batchOf(contextOf: (index: number) => object): string {
  const calls: string[] = [];
  let left = bytesMax - 2;
  for (let index = 0; index < 10_000; index++) {
    const call = JSON.stringify({ ...required, ...contextOf(index) });
    left -= call.length * 2 > left ? call.length : Buffer.byteLength(call) + 1;
    if (left < 0) break;
    calls.push(call);
  }
  return `[${calls.join(",")}]`;
}

const note = (text: string) => (index: number) => ({ context: { note: `${text} ${index}` } });
const usual: Record<string, string> = {
  "calls without a context": batchOf(() => ({ timezone: "America/New_York" })),
  "calls of four entries": batchOf((index) => ({
    context: { first_name: "Ada", last_name: "Lovelace", account: `acc_${index}`, city: "London" },
  })),
  "calls of a hundred entries": batchOf((index) => ({
    context: Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`field_${n}`, `v${index}_${n}`]),
    ),
  })),
  "calls of a hundred short entries": batchOf((index) => ({
    context: Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`a${n}`, String(index % 10)]),
    ),
  })),
  "calls of a hundred empty entries": batchOf(() => ({
    context: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [n.toString(36), ""])),
  })),
  "calls of an empty context": batchOf(() => ({ context: {} })),
  "calls with a long text": batchOf(note("Ask for Ada, and say hello. ".repeat(14))),
  "calls with escapes": batchOf(note('say "hello"\n'.repeat(25))),
  "calls with a list in a text": batchOf(note("ab,cd,ef,".repeat(40))),
  "calls with JSON in a text": batchOf(note('{"id":7,"of":[7]},'.repeat(20))),
  "calls in other scripts": batchOf(note("Zoë aus São Paulo, 日本語のテキスト ".repeat(4))),
};
/** Right batches whose texts look like brackets and commas of the body itself. V8 parses long texts several times as fast as others. */
const lookalike: Record<string, string> = {
  "calls with numbers in a text": batchOf(() => ({
    context: { m: JSON.stringify(Array.from({ length: 30 }, (_, n) => [n, n / 8])) },
  })),
  "calls with brackets in a text": batchOf(() => ({ context: { m: "[".repeat(330) } })),
  "calls with a text as what follows one": batchOf(() => ({ context: { m: ",1".repeat(165) } })),
};
const ofNames = batchOf((index) => ({
  context: Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [`${index}_${n}`, `${index}_${n}`]),
  ),
}));
const members = (count: number, value: string) =>
  Array.from({ length: count }, (_, n) => `"${n}":${value}`).join(",");
/** Returns a batch of as many of these as fit into the largest body. */
const batchFilledWith = (text: string) =>
  `[${`${text},`.repeat(bytesMax / (text.length + 1) - 1)}${text}]`;
/** Batches that the structure lets pass, and that no right one is as dense as: they are not parsed. */
const dense: Record<string, string> = {
  "fields that are empty lists": batchFilledWith(`{${members(199, "[]")}}`),
  "fields that are lists of numbers": batchFilledWith(`{${members(100, `[${"0,".repeat(99)}0]`)}}`),
  "fields that are objects": batchFilledWith(`{${members(199, '{"a":0}')}}`),
  "lists of lists": batchFilledWith(`[${"[],".repeat(149)}[]]`),
};
const hostile: Record<string, string> = {
  "brackets, one in another": "[".repeat(bytesMax / 2) + "]".repeat(bytesMax / 2),
  objects: `[${"{},".repeat(bytesMax / 3 - 2)}{}]`,
  numbers: `[${"0,".repeat(bytesMax / 2 - 2)}0]`,
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
const rows: string[][] = [];
/** Judging beside parsing, the most of all. */
let highest = 0;
const kinds = Object.entries({ usual, lookalike, dense }).flatMap(([kind, bodies]) =>
  Object.entries(bodies).map(([name, text]) => ({ kind, name, text })),
);
for (const { kind, name, text } of kinds) {
  const bytes = new TextEncoder().encode(text);
  const [parsed, judged] = await inTurns(
    [
      { name: "parse", round: () => cpuOf(() => void JSON.parse(decoder.decode(bytes))) },
      { name: "judge", round: () => cpuOf(() => void findExcess(bytes, structure)) },
    ],
    { count: 21, warmUps: 4 },
  );
  if (parsed === undefined || judged === undefined) throw new Error("nothing was measured");
  highest = Math.max(highest, judged.median / parsed.median);
  if ((kind === "dense") !== (findExcess(bytes, structure) !== undefined))
    throw new Error(`${name} is ${kind}, and judged otherwise`);
  if (judgeStructure(bytes, { levels: structure.levels }) !== undefined)
    throw new Error(`${name} has more members than may be`);
  rows.push([name, inMiB(bytes.byteLength), inMs(judged), inMs(parsed), times(judged, parsed)]);
}

const worker = await bundleForWorkers("test/bench/bodies-worker.ts");
/** Reads a body and does nothing with it: what the runtime itself takes. */
const contents = `export default {
  async fetch(request) {
    const body = await request.arrayBuffer();
    return new Response(null, { status: body.byteLength > 0 ? 422 : 400 });
  },
};`;
const reader: BundledModule[] = [{ path: "index.mjs", contents }];
/** Memory that workerd takes at most for a body, above what it has taken before, and the answer's status. */
async function memoryFor(
  body: string,
  of: BundledModule[],
  heapMiB: number | undefined,
): Promise<{ bytes: number; status: number }> {
  const others = await workerdPids();
  process.env["MINIFLARE_WORKERD_V8_FLAGS"] =
    heapMiB === undefined ? "" : `--max-heap-size=${heapMiB}`;
  const started = new Miniflare(
    convertV4MiniflareOptions({
      modules: toMiniflare(of),
      compatibilityDate: "2026-06-01",
      compatibilityFlags: ["nodejs_compat"],
      log: new Log(LogLevel.ERROR),
    }),
  );
  try {
    const url = new URL(path, await started.ready);
    const post = async (text: string) => {
      const response = await fetch(url, jsonRequest(tokens.crm, "POST", text));
      await response.arrayBuffer();
      return response.status;
    };
    const pid = (await workerdPids()).find((one) => !others.includes(one));
    if (pid === undefined) throw new Error("there is no workerd");
    for (let n = 0; n < 20; n++) await post(JSON.stringify([required]));
    const before = await memoryOf(pid, "VmRSS");
    await writeFile(`/proc/${pid}/clear_refs`, "5"); // sets VmHWM to VmRSS
    const status = await post(body);
    return { bytes: (await memoryOf(pid, "VmHWM")) - before, status };
  } finally {
    await started.dispose();
  }
}

async function memoryOf(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
}

function inMs({ median }: Costs): string {
  return `${(median / 1000).toFixed(1)} ms`;
}

function inMiB(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`;
}

/** Returns the median of three starts, as a collection of garbage may come or not. */
async function medianFor(
  body: string,
  { of = worker, heapMiB }: { of?: BundledModule[]; heapMiB?: number } = {},
): Promise<{ bytes: number; status: number }> {
  const starts: { bytes: number; status: number }[] = [];
  for (let n = 0; n < 3; n++) starts.push(await memoryFor(body, of, heapMiB));
  const [, median] = starts.toSorted((one, other) => one.bytes - other.bytes);
  if (median === undefined) throw new Error("nothing was measured");
  return median;
}

let refusedMax = 0;
let acceptedMax = 0;
const memory: string[][] = [];
const right = { ...usual, ...lookalike, "calls of names that are all different": ofNames };
for (const [name, body] of Object.entries({ ...hostile, ...dense, ...right })) {
  const isRefused = !Object.hasOwn(right, name);
  const { bytes, status } = await medianFor(body, isRefused ? {} : { heapMiB: acceptedHeapMiB });
  if (status !== (isRefused ? 422 : 201)) throw new Error(`${name} was answered ${status}`);
  const size = Buffer.byteLength(body);
  const floor = (await medianFor(body, { of: reader })).bytes;
  if (isRefused) refusedMax = Math.max(refusedMax, 1 + (bytes - floor) / size);
  else acceptedMax = Math.max(acceptedMax, bytes / mebibyte);
  memory.push([name, inMiB(size), String(status), inMiB(bytes), inMiB(floor)]);
}

report({
  title: "Large bodies",
  text: [
    "CPU of judging the structure of a batch, beside decoding and parsing it:",
    table(["Batch", "Size", "Judged", "Parsed", "CPU"], rows),
    `Memory that workerd's process takes at most for one body, above what it had taken for small batches (of a right one in a heap of ${acceptedHeapMiB} MiB), and what it takes for a Worker that reads the body and does nothing with it:`,
    table(["Batch", "Size", "Answer", "Memory", "Only read"], memory),
  ].join("\n\n"),
  targets: [
    {
      what: "judging a large body, beside parsing it",
      target: `≤ ${judgedMax} ×`,
      measured: `${highest.toFixed(2)} ×`,
      met: highest <= judgedMax,
    },
    {
      what: "memory of a refused body and of what is above only reading it, beside the body",
      target: `≤ ${refusedTimesMax} ×`,
      measured: `${refusedMax.toFixed(1)} ×`,
      met: refusedMax <= refusedTimesMax,
    },
    {
      what: "memory of the largest batches that are right",
      target: `< ${acceptedMiBMax} MiB`,
      measured: `${acceptedMax.toFixed(0)} MiB`,
      met: acceptedMax < acceptedMiBMax,
    },
  ],
});
