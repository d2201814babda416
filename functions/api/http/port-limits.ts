import { retry, withTimeLimit, withTimeLimits } from "#shared/lib/retry.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { CallQueue } from "#shared/ports/queue.ts";
import type { MessageText, Message } from "#shared/ports/call-messages.ts";
import type { UncheckedApiDeps } from "./context.ts";

/** Time limit of one call to the ledger or its documents. */
const ledgerSecondsMax = 4;
/** Time limit of one call to the object store, which may have to read a request of 4 MiB. */
export const storeSecondsMax = 15;
/** Time limit of one send. Two sends and two calls to the ledger stay within the 30 s of a gateway. */
const sendSecondsMax = 10;
/**
 * Time limit of sending a callback to the queue. Providers wait some 15 s for an answer, and then repeat the
 * callback.
 */
const eventSendSecondsMax = 8;

/**
 * The ledger, its documents or the object store failed, or did not answer in time. The operation may have taken effect.
 */
export class UnreachableError extends Error {
  readonly of: "ledger" | "store";
  constructor(message: string, { of = "ledger", ...options }: UnreachableOptions = {}) {
    super(message, options);
    this.of = of;
  }
}

/** A token that operators made cannot be checked: the ledger does not answer, or was restored. Nothing was done. */
export class UncheckedTokenError extends Error {}

interface UnreachableOptions extends ErrorOptions {
  of?: "ledger" | "store";
}

/**
 * Wraps the dependencies so that each call to the ledger, its documents, the journal, the epoch or the dead letters has a time limit, and fails as
 * an UnreachableError. A send to the events queue has a time limit too.
 */
export function withPortLimits(deps: UncheckedApiDeps): UncheckedApiDeps {
  return {
    ...deps,
    ledger: limited(deps.ledger, { of: "ledger", seconds: ledgerSecondsMax }),
    documents: limited(deps.documents, { of: "ledger", seconds: ledgerSecondsMax }),
    journal: limited(deps.journal, { of: "store", seconds: storeSecondsMax }),
    epochStore: limited(deps.epochStore, { of: "store", seconds: ledgerSecondsMax }),
    deadLetters: limited(deps.deadLetters, { of: "store", seconds: storeSecondsMax }),
    eventsQueue: withTimeLimits(deps.eventsQueue, eventSendSecondsMax),
  };
}

/** Sends a message, and repeats a failed send once. Ids are fixed, so the dialer drops duplicates. */
export async function enqueue(queue: CallQueue, message: Message | MessageText): Promise<void> {
  await retry(() => withTimeLimit(queue.send(message), sendSecondsMax), { delaysMs: [0] });
}

function limited<Port extends object>(
  port: Port,
  { of, seconds }: { of: UnreachableError["of"]; seconds: number },
): Port {
  return new Proxy(withTimeLimits(port, seconds), {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== "function") return method;
      return (...values: unknown[]) =>
        reached(Promise.resolve(Reflect.apply(method, target, values) as unknown), of);
    },
  });
}

async function reached<Result>(work: Promise<Result>, of: UnreachableError["of"]): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    throw new UnreachableError(`the ${of} cannot be reached`, { cause, of });
  }
}

/** Returns the loggable part of an error, or of what caused it where a port failed. */
export function causeForLog(error: unknown): string {
  if (error instanceof UncheckedTokenError && error.cause !== undefined)
    return causeForLog(error.cause);
  return errorForLog(error instanceof UnreachableError ? (error.cause ?? error) : error);
}
