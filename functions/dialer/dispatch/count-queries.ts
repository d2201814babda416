import type { DialerDeps } from "../runtime/context.ts";

/** Wraps the ledger and the documents, and counts their queries, of which a Worker may make a thousand. */
export function countQueries(deps: DialerDeps): { deps: DialerDeps; queries(): number } {
  let count = 0;
  const counting = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return (...words: unknown[]): unknown => {
          // A write is a transaction of two statements.
          count += name === "write" ? 2 : 1;
          return Reflect.apply(method, target, words);
        };
      },
    });
  const counted = {
    ...deps,
    ledger: counting(deps.ledger),
    documents: counting(deps.documents),
  };
  return { deps: counted, queries: () => count };
}
