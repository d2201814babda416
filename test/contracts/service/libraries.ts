import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import type { PlacedRequest } from "#infra/client/index.ts";
import { type Fault, faults, startFaultyServer } from "#test/support/faulty-server.ts";
import { importPacked, installPython, installTypescript } from "#test/support/packed-libraries.ts";
import { type PythonJob, runPython } from "#test/support/python-library.ts";
import { until } from "#test/support/service.ts";
import { numberOf, reader, type ServiceBench } from "./setup.ts";

const singles = 24;
const batch = 60;
/** Times that a user repeats a request under the key of its error, until a test fails. */
const patience = 20;
/** A try lasts longer than a busy machine takes to answer eight requests at once. */
const bounds = { tries: 4, delayMs: 5, tryMs: 6_000 };
const lanes = 8;

type Packed = Awaited<ReturnType<typeof importPacked>>;

/** The libraries beside the whole service, through a network that loses half of the requests or answers. */
export function itServesItsLibraries(bench: ServiceBench): void {
  const callTo = (agent_id: string, n: number) => ({ phone_number: numberOf(n), agent_id });
  const callsOf = (agent: string) => ({
    one: Array.from({ length: singles }, (_, n) => callTo(agent, n)),
    many: Array.from({ length: batch }, (_, n) => callTo(agent, singles + n)),
  });

  async function expectEachDialedOnce(agent: string, ids: readonly string[]): Promise<void> {
    const dialed = () =>
      bench.receiver.received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`));
    await until(() => dialed().length >= singles + batch);
    await new Promise((next) => setTimeout(next, 1_000)); // a call that was accepted twice would be dialed soon
    const numbers = dialed().map(({ text }): string => JSON.parse(text).phone_number);
    const all = Array.from({ length: singles + batch }, (_, n) => numberOf(n));
    expect(numbers.toSorted()).toEqual(all.toSorted());
    expect(new Set(dialed().map(({ id }) => id))).toEqual(new Set(ids));
  }

  async function useTypeScript(baseUrl: string, { createClient }: Packed): Promise<void> {
    const options = { baseUrl, token: reader.token };
    const retry = { triesMax: bounds.tries, delayMs: bounds.delayMs, tryMsMax: bounds.tryMs };
    const calls = createClient({ ...options, retry });
    const { one, many } = callsOf("library");
    const placed: PlacedRequest[] = [];
    const placeOfLane = async (lane: number) => {
      for (const call of one.filter((_, n) => n % lanes === lane)) {
        placed.push(await insist((key) => calls.placeCall(call, key)));
      }
    };
    const list = await insist((key) => calls.placeCalls(many, key));
    await Promise.all(Array.from({ length: lanes }, (_, lane) => placeOfLane(lane)));
    await expectEachDialedOnce(
      "library",
      [list, ...placed].flatMap(({ callIds }) => callIds),
    );
    const requestId = list.requests[0]?.requestId ?? "";
    const patient = createClient({ ...options, retry: { ...retry, triesMax: patience } });
    const request = await patient.waitForRequest(requestId, { msMax: 120_000 });
    expect([request.total, request.counts?.by_state]).toEqual([batch, { PLACED: batch }]);
    const listed: string[] = [];
    for await (const { id } of patient.listCalls(requestId)) listed.push(id);
    expect(listed).toEqual(list.callIds);
    expect(await patient.cancelRequest(requestId)).toMatchObject({ cancelled: 0 });
  }

  async function usePython(url: string, client: "sync" | "async", sources: string): Promise<void> {
    const agent = `python-${client}`;
    const { one, many } = callsOf(agent);
    const { tries, delayMs, tryMs } = bounds;
    const limits = { tries, delay: delayMs / 1000, try_timeout: tryMs / 1000 };
    const task = { url, token: reader.token, client, bounds: limits };
    const jobs: PythonJob[] = [...one.map((call) => ({ call })), { calls: many }];
    const patient = jobs.map((job) => ({ ...job, patience }));
    const placed = await runPython<{ call_ids: string[] }>({ ...task, jobs: patient }, { sources });
    const ids = placed.flatMap(({ call_ids }) => call_ids);
    await expectEachDialedOnce(agent, ids);
    const wait: string = Object(placed.at(-1)).requests[0].request_id;
    const [request] = await runPython({ ...task, jobs: [{ wait, patience }] }, { sources });
    expect(request).toMatchObject({ finished: true, counts: { by_state: { PLACED: batch } } });
  }

  it("has libraries that call nobody twice and lose nobody, whatever the network loses", async () => {
    const seed = Number(process.env["SEED"] ?? randomInt(2 ** 31));
    console.log(`The losses are those of SEED=${seed}`);
    const { prefix } = bench.platform;
    const serve = (request: Request) => {
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(bench.service.root + prefix + pathname + search, request));
    };
    // The libraries are installed as they are published, so that a file that was not packed is missing.
    const [project, wheel] = await Promise.all([installTypescript(), installPython()]);
    const network = await startFaultyServer(serve, createFaults(seed));
    await Promise.all([
      useTypeScript(network.url, await importPacked(project.folder)),
      usePython(network.url, "sync", wheel.sources),
      usePython(network.url, "async", wheel.sources),
    ]);
    await Promise.all([network.close(), project.remove(), wheel.remove()]);
  });
}

/** Repeats a request under the key of its error, as its user would. */
async function insist<Result>(
  place: (key: { idempotencyKey?: string }) => Promise<Result>,
): Promise<Result> {
  let key = {};
  for (let n = 1; ; n++) {
    try {
      return await place(key);
    } catch (error) {
      const { name, idempotencyKey }: { name?: unknown; idempotencyKey?: unknown } = Object(error);
      if (name !== "OutboundCallsError" || n > patience) throw error;
      if (typeof idempotencyKey === "string") key = { idempotencyKey };
    }
  }
}

/** Returns the same faults for the same seed: about half of the requests or answers are lost (mulberry32). */
function createFaults(seed: number): () => Fault {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    const share = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    return share < 0.5 ? "none" : (faults[Math.floor((share - 0.5) * 2 * faults.length)] ?? "none");
  };
}
