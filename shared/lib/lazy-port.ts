import { withTimeLimit } from "./retry.ts";

/** Time limit of `create`. Without it a `create` that hangs would block every later call. */
const createSecondsMax = 3;

/**
 * Returns a port whose first call creates its adapter, for adapters whose client takes long to load. All methods of
 * the port return promises. After a failure the next call runs `create` again.
 */
export function lazyPort<Port extends object>(create: () => Promise<Port>): Port {
  let creating: Promise<Port> | undefined;
  const port = () => {
    creating ??= withTimeLimit(create(), createSecondsMax).catch((error: unknown) => {
      creating = undefined;
      throw error;
    });
    return creating;
  };
  const call = async (name: PropertyKey, values: unknown[]): Promise<unknown> => {
    const target = await port();
    const method: unknown = Reflect.get(target, name);
    if (typeof method !== "function") throw new TypeError(`${String(name)} is no method`);
    return Reflect.apply(method, target, values);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every property is read by `get`
  const none = {} as Port;
  return new Proxy(none, {
    get: (_target, name) =>
      name === "then" ? undefined : (...values: unknown[]) => call(name, values),
  });
}
