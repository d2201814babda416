import { d1StatementsMax } from "#shared/cloudflare/invocation.ts";
import type { Stores } from "./dialer-parts.ts";

/** Stores whose statements count, as D1 counts them. */
export interface CountedStores extends Stores {
  statementsLeft(): number;
  count(): number;
}

/** The same as dependencies of one invocation, which D1 refuses more statements than a thousand. */
export function asOneInvocation<Deps extends Stores>(deps: Deps | (Deps & CountedStores)) {
  return "count" in deps ? deps : { ...deps, ...countQueries(deps, d1StatementsMax) };
}

/**
 * Wraps a ledger and documents so that their statements are counted: a write is a transaction of two.
 *
 * @param max statements beyond which calls throw, as D1 refuses them
 */
export function countQueries({ ledger, documents }: Stores, max = Infinity): CountedStores {
  let count = 0;
  const counting = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return (...words: unknown[]): unknown => {
          count += name === "write" ? 2 : 1;
          if (count > max) throw new Error(`more than ${max} statements of one invocation`);
          return Reflect.apply(method, target, words);
        };
      },
    });
  return {
    ledger: counting(ledger),
    documents: counting(documents),
    statementsLeft: () => max - count,
    count: () => count,
  };
}
