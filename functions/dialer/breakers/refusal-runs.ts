import { readRefusals, refusalCountersOf, refusalsOf } from "../../../shared/policy/breakers.ts";
import type { DocumentsRead } from "../../../shared/ports/documents.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { failuresLifeMs, resetCounters, writeFailures } from "./failure-counters.ts";
import type { Judged } from "./judged-call.ts";

/** Maximum numbers per backlog that a process remembers as counted. */
const countedNumbersMax = 1_000;

/**
 * Counts one refusal of a backlog's call, each number once in this process. A different code starts a new run.
 *
 * @returns the length of the run, or 0 if the refusal did not count; and the countries of its numbers
 */
export async function countRefusal(
  code: string,
  { call, read }: Judged,
  deps: DialerDeps,
): Promise<{ inRow: number; countries: string[] }> {
  const { documents, clock, memory } = deps;
  const key = refusalsOf(call);
  const counted = memory.countedNumbers.get(key) ?? new Set<string>();
  memory.countedNumbers.set(key, counted);
  if (counted.has(call.numberHash)) return { inRow: 0, countries: [] };
  if (counted.size >= countedNumbersMax) counted.clear();
  counted.add(call.numberHash);
  const names = refusalCountersOf(code, call.country);
  const one = Object.fromEntries(names.map((name) => [name, 1]));
  const known = read.get("failures", key);
  const knownCodes = Object.keys(readRefusals(known?.value ?? {}).refusals);
  if (known !== undefined && knownCodes.some((other) => other !== code)) {
    await writeFailures(known, one, deps);
    return { inRow: 1, countries: [] };
  }
  const all = await documents.add({ kind: "failures", key }, one, clock.now() + failuresLifeMs);
  const { refusals, countries } = readRefusals(all);
  return { inRow: refusals[code] ?? 0, countries: Object.keys(countries) };
}

/**
 * Ends a backlog's run of refusals after a placed call. The counters are read anew, as other calls of a list in which
 * some are refused count all the time: a run that a conflict kept alive would open the breaker.
 */
export async function endRefusals(
  key: string,
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  const { memory } = deps;
  const known = Object.keys(read.get("failures", key)?.value ?? {}).length;
  if (known + (memory.countedNumbers.get(key)?.size ?? 0) === 0) return;
  memory.countedNumbers.delete(key);
  await resetCounters(key, deps);
}
