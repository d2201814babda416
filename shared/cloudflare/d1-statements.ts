import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Maximum statements of one invocation of a Worker. Each statement of a batch counts.
 * https://developers.cloudflare.com/d1/platform/limits/ ("Queries per Worker invocation", paid)
 */
export const d1StatementsMax = 1_000;

const invocation = new AsyncLocalStorage<{ statements: number }>();

/** Runs one invocation of a Worker: the statements of all that it starts count together. */
export function asInvocation<Result>(work: () => Result): Result {
  return invocation.run({ statements: 0 }, work);
}

/** Returns how many statements the current invocation may still send. */
export function statementsLeft(): number {
  return d1StatementsMax - (invocation.getStore()?.statements ?? 0);
}

/**
 * Counts statements that are about to be sent.
 *
 * @throws if D1 would refuse them. Local servers do not count, so that a loop without a bound would be seen in production only
 */
export function countStatements(count: number): void {
  const current = invocation.getStore();
  if (current === undefined) return;
  current.statements += count;
  if (current.statements > d1StatementsMax) {
    throw new Error(`an invocation sends more than ${d1StatementsMax} statements to D1`);
  }
}
