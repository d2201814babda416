/** How long a claimed call waits for its request to be let through: it must leave while its claim is young. */
const waitMsMax = 5_000;

/** Lets a number of requests of one delivery through at once, in the order in which they come. */
export interface RequestGate {
  /** False: none was let out in time. */
  enter(): Promise<boolean>;
  leave(): void;
}

export function createRequestGate(
  total: number,
  clock: { sleep(ms: number): Promise<void> },
): RequestGate {
  let free = total;
  const waiting: (() => void)[] = [];
  return {
    async enter() {
      if (free > 0) {
        free -= 1;
        return true;
      }
      const { promise, resolve } = Promise.withResolvers<true>();
      const letIn = () => resolve(true);
      waiting.push(letIn);
      const isIn = await Promise.race([promise, clock.sleep(waitMsMax).then(() => false)]);
      // Let in at the very moment at which it gave up: it is in.
      const index = waiting.indexOf(letIn);
      if (isIn || index < 0) return true;
      waiting.splice(index, 1);
      return false;
    },
    leave() {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    },
  };
}
