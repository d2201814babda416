/** Number of invocations of one function in a chain at which Lambda stops it. */
const chainMax = 16;

/**
 * Returns the trace of the next invocation of a function, which counts the invocations of each function in its chain.
 * Undefined: Lambda stops the chain. https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
 *
 * @param traces those of the invocation's messages: the longest chain counts
 */
export function nextTrace(traces: readonly string[], functionName: string): string | undefined {
  const counts = new Map<string, number>();
  for (const trace of traces) {
    for (const [, name = "", count] of trace.matchAll(/([\w-]+):(\d+)/g)) {
      counts.set(name, Math.max(counts.get(name) ?? 0, Number(count)));
    }
  }
  const count = counts.get(functionName) ?? 0;
  if (count >= chainMax) return undefined;
  counts.set(functionName, count + 1);
  const lineage = [...counts].map(([name, invocations]) => `${name}:${invocations}`);
  return `Root=1-0-0;Lineage=${lineage.join("|")}`;
}
