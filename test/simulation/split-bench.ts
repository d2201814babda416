import type { CallResult, ResultStatus } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { judgeSplits } from "#functions/dialer/sweep/judge-splits.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { resultsIn, resultsKeyOf, roundKeyOf } from "#shared/policy/split-rounds.ts";
import { boom, documentOf, putDocument } from "#test/support/dialer-calls.ts";
import { createBench, minuteMs, nothing, twilio } from "#test/support/results-bench.ts";
import { retry } from "#test/support/retry-bench.ts";
import { createSplitModel, type Judgement, none, type Weights } from "./split-model.ts";
import { listRows, postToSplit, splitName } from "./split-rules.ts";

export const calleesMax = 80;
/** Arms that the plan may name. The last one has no retries. */
const names = ["agent_a", "agent_b", "agent_c"] as const;
const vapi = { provider: "vapi", agent: "a", from: "f" };
const routes: Record<string, object> = {
  agent_a: { ...twilio.agents.agent_sales, retry },
  agent_b: { ...vapi, retry },
  agent_c: { ...vapi, agent: "c" },
};
const planOf = (split: Weights) => ({
  agents: { ...routes, [splitName]: { split, detectPoints: 50 } },
  providers: { twilio: { callsPerSecond: 100 }, vapi: { callsPerSecond: 100 } },
  results: {},
});
/** Ends of calls. `completed` is the most frequent one; some have a retry, and some say nothing. */
const ends: readonly ResultStatus[] = [
  "completed",
  "busy",
  "completed",
  "voicemail",
  "completed",
  "no_answer",
  "unknown",
  "completed",
  "failed",
  "declined",
  "completed",
  "invalid",
  "blocked",
  "live",
];

const noSweeps = { firstSweepSeconds: 10_000 };
const endless = { isOver: () => false };

/** One event in the life of a split whose results are judged. */
export type Step =
  | { post: readonly number[] }
  | { test: readonly number[] }
  | { pass: number }
  | { weights: Weights }
  | (typeof words)[number];
export const words = [
  "deliver again",
  "restart",
  "other process",
  "judge twice",
  "freeze",
  "thaw",
] as const;

/** Creates a split whose rounds and verdicts are compared with those of the model after each step. */
export function createSplitBench(begun: Weights) {
  const bench = createBench({}, planOf(begun));
  const model = createSplitModel(begun, bench.now);
  let others = createDialerMemory();
  let last: Awaited<ReturnType<typeof postToSplit>> | undefined;
  let frozen: { thaw(): Promise<void>; judgement: Judgement } | undefined;

  bench.record = async ({ id }): Promise<CallResult> => {
    const call = bench.dialed.find((one) => one.call.id === id)?.call;
    const callee = Number(call?.request.phone_number.slice(-2));
    const end = ends[(callee * 5 + (call?.ancestors?.length ?? 0) * 3) % ends.length] ?? "live";
    return { ...nothing, status: end, word: end };
  };

  async function post(persons: readonly number[], more: object = {}): Promise<void> {
    const called = persons.map((person) => ({ phone_number: `+13035550${100 + person}` }));
    last = await postToSplit(bench, called, more);
    const { requestId, mode, calls } = last;
    model.deliver(mode === "live" ? calls.map(({ index }) => toCallId(requestId, index)) : []);
    await bench.simulate(persons.length + 10, noSweeps);
  }
  async function deliverAgain(): Promise<void> {
    if (last === undefined) return;
    model.deliver([]);
    await bench.send(last);
    await bench.simulate(5, noSweeps);
  }

  /** Reads results and judges, as each minute does, and looks at what is stored after each judgement. */
  async function judge(): Promise<string[]> {
    await bench.sweep();
    const found = await judged();
    await bench.deliverEvents();
    await bench.upkeep();
    return [...found, ...(await judged())];
  }
  async function judged(): Promise<string[]> {
    const rows = await listRows(bench);
    model.learn(model.judge(rows));
    return violations(rows);
  }

  async function violations(rows: readonly CallRow[]): Promise<string[]> {
    const found: string[] = [];
    const { kind, key } = roundKeyOf(splitName);
    const round = (await documentOf(bench, kind, key))?.value;
    if (round?.since !== model.currentRound()) found.push(`the round is of ${round?.since}`);
    const verdict = model.verdicts.get(model.currentRound() ?? 0);
    const [stored, expected] = [round?.verdict?.arms, verdict].map((one) => JSON.stringify(one));
    if (stored !== expected) found.push(`the verdict is ${stored}, and must be ${expected}`);
    const spoken = bench.eventsOf("split.judged").length;
    if (spoken !== model.spoken()) found.push(`${spoken} verdicts, not ${model.spoken()}`);
    for (const since of model.rounds()) found.push(...(await countViolations(rows, since)));
    return found;
  }
  async function countViolations(rows: readonly CallRow[], since: number): Promise<string[]> {
    const of = { name: splitName, since };
    const read = await bench.documents.read(names.map((arm) => resultsKeyOf(of, arm)));
    const counts = model.countChains(rows, since);
    return names.flatMap((arm) => {
      const both = [resultsIn(read, of, arm), counts.get(arm) ?? none];
      const [stored, counted] = both.map((one) => JSON.stringify(one));
      return stored === counted ? [] : [`${arm} since ${since}: ${stored}, not ${counted}`];
    });
  }

  /** Reads results in minutes in which no verdict can be stored. */
  async function readUnjudged(): Promise<void> {
    const { documents } = bench.deps;
    bench.breakDocuments({
      write: async (changes) =>
        changes[0]?.next.kind === "split" ? boom() : documents.write(changes),
    });
    await bench.simulate(300, noSweeps);
    await bench.sweep();
    await bench.deliverEvents();
    bench.deps.documents = documents;
  }
  async function judgeTwice(): Promise<void> {
    await readUnjudged();
    model.learn(model.judge(await listRows(bench)));
    await Promise.all([judgeSplits(endless, bench.deps), judgeSplits(endless, bench.deps)]);
  }
  /** Begins a judgement that stops between its reads and its write. */
  async function freeze(): Promise<void> {
    await readUnjudged();
    const [read, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { documents } = bench.deps;
    const write: typeof documents.write = async (changes) => {
      read.resolve();
      await thawed.promise;
      return documents.write(changes);
    };
    const slow = { ...bench.deps, documents: { ...documents, write } };
    const work = judgeSplits(endless, slow).then(read.resolve);
    await read.promise;
    frozen = {
      judgement: model.judge(await listRows(bench)),
      async thaw() {
        thawed.resolve();
        await work;
      },
    };
  }
  async function thaw(): Promise<void> {
    if (frozen === undefined) return;
    model.learn(frozen.judgement);
    await frozen.thaw();
    frozen = undefined;
  }

  async function take(one: Step): Promise<string[]> {
    if (one === "restart") bench.deps.memory = createDialerMemory();
    else if (one === "other process") [bench.deps.memory, others] = [others, bench.deps.memory];
    else if (one === "deliver again") await deliverAgain();
    else if (one === "judge twice") await judgeTwice();
    else if (one === "freeze") await (frozen === undefined ? freeze() : undefined);
    else if (one === "thaw") await thaw();
    else if ("post" in one) await post(one.post);
    else if ("test" in one) await post(one.test, { client: "test:crm", mode: "test" });
    else if ("weights" in one) {
      model.change(one.weights);
      bench.changePlan(planOf(one.weights));
    } else {
      await bench.simulate(one.pass * 60, noSweeps);
      return judge();
    }
    return violations(await listRows(bench));
  }
  /**
   * Copies the ledger after a sweep. Returns a function that puts the copy back, posts calls before an operator confirms the
   * restore, and lets time pass until calls are dialed again.
   */
  async function backUp(): Promise<(persons: readonly number[]) => Promise<string[]>> {
    await judge();
    const at = bench.now();
    const [putBack, forget] = [bench.copy(), model.copy()];
    return async (persons) => {
      await thaw();
      putBack();
      forget();
      bench.deps.memory = createDialerMemory();
      others = createDialerMemory();
      // A call that is accepted within a minute of the restore may be one that it took away.
      const found = [...(await passMinute()), ...(await passMinute()), ...(await passMinute())];
      await post(persons);
      const { kind, key } = restoreKey;
      const noticed = (await documentOf(bench, kind, key))?.value;
      if (noticed?.state !== "suspended") return [...found, "the restore is not noticed"];
      await putDocument(bench, restoreKey, { ...noticed, state: "confirmed", at, by: "ops" });
      while ((await documentOf(bench, kind, key))?.value.state === "confirmed")
        found.push(...(await passMinute()));
      return [...found, ...(await judge())];
    };
  }
  /** Lets a minute pass in which a restore may be dealt with. Only then results are judged. */
  async function passMinute(): Promise<string[]> {
    bench.advance(minuteMs);
    await bench.sweep();
    const { kind, key } = restoreKey;
    const isDone = (await documentOf(bench, kind, key))?.value.state === "done";
    return isDone ? judged() : violations(await listRows(bench));
  }
  return { bench, model, take, backUp };
}
