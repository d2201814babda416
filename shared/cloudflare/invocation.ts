/**
 * Limits of what a Worker asks of others in one invocation. Cloudflare refuses what exceeds them, but the local server neither
 * counts nor waits: a loop without a bound would be seen in production only. Therefore the code counts, wherever it runs.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type OutgoingRequest, Withheld } from "../lib/http-client.ts";

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
/**
 * Maximum statements to D1 among them. Statements that hang, for up to 30 s, leave a connection for the queue, to which
 * outcomes go that D1 does not take.
 */
export const statementsAtOnceMax = connectionsMax - 1;
/** Maximum wait of a statement for its connection: what asked for it gives up after that time, and must not be surprised later. */
const statementWaitMsMax = 5_000;

interface Invocation {
  statements: number;
  subrequests: number;
  /** Subrequests that wait for their response headers, and those to D1 among them. */
  open: number;
  openStatements: number;
  /** Subrequests that wait for a connection, the oldest first. */
  waiting: Set<Waiting>;
}

/** A subrequest that waits for a connection. `start` is called once it has one. */
interface Waiting {
  isStatement: boolean;
  start(): void;
}

/** Destination of a subrequest, and what ends its wait for a connection. */
interface Kind {
  /** True: it goes to D1. */
  isStatement?: boolean;
  signal?: AbortSignal;
}

const invocation = new AsyncLocalStorage<Invocation>();

/** Runs one invocation of a Worker: all that it starts counts together. */
export function asInvocation<Result>(work: () => Result): Result {
  const counts = { statements: 0, subrequests: 0, open: 0, openStatements: 0 };
  return invocation.run({ ...counts, waiting: new Set() }, work);
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
 * Sends one subrequest, once fewer than six wait for their response headers, and fewer than five statements if it is one.
 *
 * @param send sends it. Its promise resolves when the headers have arrived
 * @throws if Cloudflare would refuse it, or why its wait ended. Nothing was sent then
 */
export async function subrequest<Answer>(
  send: () => Promise<Answer>,
  { isStatement = false, signal }: Kind = {},
): Promise<Answer> {
  const current = invocation.getStore();
  if (current === undefined) return send();
  current.subrequests += 1;
  if (current.subrequests > subrequestsMax) {
    throw new Error(`an invocation sends more than ${subrequestsMax} subrequests`);
  }
  if (mayStart(current, isStatement)) take(current, isStatement);
  else await untilFree(current, { isStatement, signal });
  try {
    return await send();
  } finally {
    giveBack(current, isStatement);
  }
}

function mayStart({ open, openStatements }: Invocation, isStatement: boolean): boolean {
  return open < connectionsMax && (!isStatement || openStatements < statementsAtOnceMax);
}

function take(current: Invocation, isStatement: boolean): void {
  current.open += 1;
  if (isStatement) current.openStatements += 1;
}

/** Waits for a connection, which is then taken. A statement waits for some seconds, others until their signal aborts. */
async function untilFree(
  { waiting }: Invocation,
  { isStatement, signal }: { isStatement: boolean; signal: AbortSignal | undefined },
): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve: start, reject } = Promise.withResolvers<void>();
  const one = { isStatement, start };
  const stop = (reason: unknown) => {
    waiting.delete(one);
    reject(reason);
  };
  const abort = () => stop(signal?.reason);
  signal?.addEventListener("abort", abort);
  const late = () => stop(new Error("D1 had no connection in time"));
  const timer = isStatement ? setTimeout(late, statementWaitMsMax) : undefined;
  waiting.add(one);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** Ends a subrequest, and gives its connection to the one that has waited longest and may have it. */
function giveBack(current: Invocation, isStatement: boolean): void {
  current.open -= 1;
  if (isStatement) current.openStatements -= 1;
  for (const next of current.waiting) {
    if (!mayStart(current, next.isStatement)) continue;
    current.waiting.delete(next);
    take(current, next.isStatement);
    next.start();
    return;
  }
}

/** Maximum wait for a connection of a request that may be withheld: its permit and the last look at orders are as old. */
const leavingWaitMsMax = 2_000;

/**
 * Sends a request to a provider or receiver as a subrequest. After its wait for a connection it asks once more if it may leave.
 *
 * @throws Withheld if a request that may be withheld has not left
 */
export async function sendBySubrequest(
  url: string,
  { mayLeave, ...request }: OutgoingRequest,
): Promise<Response> {
  let hasLeft = false;
  const askedAt = Date.now();
  try {
    return await subrequest(
      () => {
        const isLate = Date.now() - askedAt > leavingWaitMsMax;
        if (mayLeave !== undefined && (isLate || !mayLeave())) throw new Withheld("too late");
        hasLeft = true;
        return fetch(url, request);
      },
      { signal: request.signal },
    );
  } catch (error) {
    throw mayLeave === undefined || hasLeft ? error : new Withheld("no connection in time");
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
