/**
 * Limits of what a Worker asks of others in one invocation. Cloudflare refuses what exceeds them, but the local server neither
 * counts nor waits: a loop without a bound would be seen in production only. Therefore the code counts, wherever it runs.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Maximum statements of one invocation of a Worker. Each statement of a batch counts.
 * https://developers.cloudflare.com/d1/platform/limits/ ("Queries per Worker invocation", paid)
 */
export const d1StatementsMax = 1_000;
/**
 * Maximum subrequests of one invocation: requests by `fetch`, and those to D1, R2, Queues and assets; a batch is one. As
 * wrangler.toml says. https://developers.cloudflare.com/workers/platform/limits/#subrequests
 */
export const subrequestsMax = 10_000;
/**
 * Maximum subrequests that wait for their response headers at once; further ones wait for one of them.
 * https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections
 */
export const connectionsMax = 6;

interface Invocation {
  statements: number;
  subrequests: number;
  /** Subrequests that wait for their response headers. */
  open: number;
  /** Starts the subrequests that wait for a connection, the oldest first. */
  waiting: Set<() => void>;
}

const invocation = new AsyncLocalStorage<Invocation>();

/** Runs one invocation of a Worker: all that it starts counts together. */
export function asInvocation<Result>(work: () => Result): Result {
  return invocation.run({ statements: 0, subrequests: 0, open: 0, waiting: new Set() }, work);
}

/** Returns how many subrequests the current invocation may still send. */
export function subrequestsLeft(): number {
  return subrequestsMax - (invocation.getStore()?.subrequests ?? 0);
}

/** Returns how many statements the current invocation may still send, each of which may need a subrequest. */
export function statementsLeft(): number {
  return Math.min(d1StatementsMax - (invocation.getStore()?.statements ?? 0), subrequestsLeft());
}

/**
 * Counts statements that are about to be sent.
 *
 * @throws if D1 would refuse them
 */
export function countStatements(count: number): void {
  const current = invocation.getStore();
  if (current === undefined) return;
  current.statements += count;
  if (current.statements > d1StatementsMax) {
    throw new Error(`an invocation sends more than ${d1StatementsMax} statements to D1`);
  }
}

/**
 * Sends one subrequest, once fewer than six wait for their response headers.
 *
 * @param send sends it. Its promise resolves when the headers have arrived
 * @param signal ends the wait
 * @throws if Cloudflare would refuse it, or the signal's reason. Nothing was sent then
 */
export async function subrequest<Answer>(
  send: () => Promise<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  const current = invocation.getStore();
  if (current === undefined) return send();
  current.subrequests += 1;
  if (current.subrequests > subrequestsMax) {
    throw new Error(`an invocation sends more than ${subrequestsMax} subrequests`);
  }
  if (current.open >= connectionsMax) await untilFree(current, signal);
  else current.open += 1;
  try {
    return await send();
  } finally {
    passOn(current);
  }
}

/** Waits for the connection of a subrequest that has its headers. */
async function untilFree({ waiting }: Invocation, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => {
    waiting.delete(resolve);
    reject(signal?.reason);
  };
  signal?.addEventListener("abort", abort);
  waiting.add(resolve);
  try {
    await promise;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Gives a connection to the subrequest that has waited longest. */
function passOn(current: Invocation): void {
  const [next] = current.waiting;
  if (next === undefined) current.open -= 1;
  else {
    current.waiting.delete(next);
    next();
  }
}

/** Wraps a binding so that each call of its methods, all of which return promises, is a subrequest. */
export function asSubrequests<Binding extends object>(binding: Binding): Binding {
  return new Proxy(binding, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      return (...values: unknown[]) =>
        subrequest(async () => Reflect.apply(method, target, values) as unknown);
    },
  });
}
