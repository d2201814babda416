import { errorForLog } from "../../shared/platform/log.ts";
import type { CallQueue } from "../../shared/queue/call-queue.ts";
import type { Message } from "../../shared/queue/messages.ts";
import { withTimeLimit, withTimeLimits } from "../../shared/platform/time-limit.ts";
import type { ApiDeps } from "./context.ts";

/** Longest that one call to the ledger or its documents may take. */
const ledgerSecondsMax = 4;
/** Longest that one send may take. Two of them and two calls to the ledger stay within the 30 s of a gateway. */
const sendSecondsMax = 10;

/** The ledger or its documents failed, or gave no answer in time; what they were asked to do may have been done. */
export class UnreachableError extends Error {}

/** The same dependencies; each call to the ledger or its documents ends in time, and fails as an UnreachableError. */
export function withPortLimits(deps: ApiDeps): ApiDeps {
  return {
    ...deps,
    ledger: () => limited(deps.ledger()),
    documents: () => limited(deps.documents()),
  };
}

/** Sends a message, and once more where that fails: its ids are fixed, so the dialer drops what arrives twice. */
export async function enqueue(queue: CallQueue, message: Message): Promise<void> {
  const send = () => withTimeLimit(queue.send(message), sendSecondsMax);
  await send().catch(send);
}

async function limited<Port extends object>(making: Promise<Port>): Promise<Port> {
  const port = await reached(withTimeLimit(making, ledgerSecondsMax));
  return new Proxy(withTimeLimits(port, ledgerSecondsMax), {
    get(target, name, receiver) {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== "function") return method;
      return (...values: unknown[]) =>
        reached(Promise.resolve(Reflect.apply(method, target, values) as unknown));
    },
  });
}

async function reached<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    throw new UnreachableError("the ledger cannot be reached", { cause });
  }
}

/** What may be logged of an error: of an UnreachableError, what lies behind it. */
export function causeForLog(error: unknown): string {
  return errorForLog(error instanceof UnreachableError ? (error.cause ?? error) : error);
}
