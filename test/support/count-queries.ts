import type { Bench } from "./dialer-calls.ts";

/** Wraps a bench's ledger and documents so that their queries are counted: a write is two. */
export function countQueries(bench: Bench) {
  let count = 0;
  const counting = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return (...words: unknown[]): unknown => {
          count += name === "write" ? 2 : 1;
          return Reflect.apply(method, target, words);
        };
      },
    });
  return {
    ledger: counting(bench.rows),
    documents: counting(bench.documents),
    count: () => count,
  };
}
