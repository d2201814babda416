/** A gate before the posts of the race. */
export interface Gate {
  /** Holds posts back. Resolves to the number of accepted calls once no post is under way. */
  close(): Promise<number>;
  open(): void;
}

/** Creates an open gate, and a function that runs work once the gate is open. */
export function createGate(accepted: () => number): Gate & {
  pass<Result>(work: () => Promise<Result>): Promise<Result>;
} {
  let opened = Promise.resolve();
  let open = () => {};
  const underWay = new Set<Promise<unknown>>();
  return {
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      [opened, open] = [promise, resolve];
      await Promise.allSettled(underWay);
      return accepted();
    },
    open: () => open(),
    async pass(work) {
      // The gate may close again before a waiting post has its turn.
      for (let last; last !== opened;) await (last = opened);
      const working = work();
      underWay.add(working);
      try {
        return await working;
      } finally {
        underWay.delete(working);
      }
    },
  };
}
