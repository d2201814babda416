// oxlint-disable typescript/no-unsafe-type-assertion -- the declared types are those of the functions of zod/mini
/**
 * The functions of `zod/mini` that this project calls often, each returning a schema or check that is built when it is
 * first used. Building all schemas took half of a Worker's start, and a delivery uses few of them.
 */
import * as mini from "zod/mini";

export * from "zod/mini";

/** A schema or check that may not have been built yet. */
interface Later {
  build: () => object;
  built?: object;
}

/** The build of each object that this module has returned. */
const laters = new WeakMap<object, Later>();

/** Returns the schema or check that a value stands for, at any depth of plain objects and arrays; other values as they are. */
export function real<Value>(value: Value): Value;
export function real(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const later = laters.get(value);
  if (later !== undefined) return (later.built ??= later.build());
  if (Array.isArray(value)) return value.map((one) => real(one));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, real(one)]));
}

/** Represents what is built later: reading a property builds it, except for functions that add checks. */
const handler: ProxyHandler<Later> = {
  get(later, key) {
    if (key === "check") return (...added: unknown[]) => laterOf(() => withChecks(later, added));
    later.built ??= later.build();
    return Reflect.get(later.built, key);
  },
  has: (later, key) => Reflect.has((later.built ??= later.build()), key),
  getPrototypeOf: (later) => Reflect.getPrototypeOf((later.built ??= later.build())),
};

function laterOf(build: () => object): never {
  const later: Later = { build };
  const proxy = new Proxy(later, handler);
  laters.set(proxy, later);
  return proxy as never;
}

function withChecks(later: Later, added: readonly unknown[]): object {
  const schema = (later.built ??= later.build()) as mini.ZodMiniType;
  return schema.check(...(real(added) as Parameters<typeof schema.check>));
}

/** Returns what `make` returns for the arguments, once it is used. */
function builtLater(make: (...given: never[]) => object, given: readonly unknown[]): never {
  return laterOf(() => (make as (...values: unknown[]) => object)(...real(given)));
}

/** Returns the schema that `make` returns, once it is used. */
export function whenUsed<Schema extends mini.ZodMiniType>(make: () => Schema): Schema {
  return laterOf(() => real(make()));
}

/** The getter of a lazy schema may return one that is built later, too. */
export const lazy: typeof mini.lazy = /* @__NO_SIDE_EFFECTS__ */ (getter) =>
  laterOf(() => mini.lazy(() => real(getter())));
export const string: typeof mini.string = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.string, given);
export const number: typeof mini.number = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.number, given);
export const int: typeof mini.int = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.int, given);
export const boolean: typeof mini.boolean = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.boolean, given);
export const unknown: typeof mini.unknown = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.unknown, given);
export const object: typeof mini.object = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.object, given);
export const strictObject: typeof mini.strictObject = /* @__NO_SIDE_EFFECTS__ */ (
  ...given: unknown[]
) => builtLater(mini.strictObject, given);
export const looseObject: typeof mini.looseObject = /* @__NO_SIDE_EFFECTS__ */ (
  ...given: unknown[]
) => builtLater(mini.looseObject, given);
export const array: typeof mini.array = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.array, given);
export const record: typeof mini.record = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.record, given);
export const partialRecord: typeof mini.partialRecord = /* @__NO_SIDE_EFFECTS__ */ (
  ...given: unknown[]
) => builtLater(mini.partialRecord, given);
const enumLater: typeof mini.enum = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.enum, given);
export const literal: typeof mini.literal = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.literal, given);
export const optional: typeof mini.optional = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.optional, given);
export const nullable: typeof mini.nullable = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.nullable, given);
export const nullish: typeof mini.nullish = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.nullish, given);
export const _default: typeof mini._default = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini._default, given);
const catchLater: typeof mini.catch = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.catch, given);
export const union: typeof mini.union = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.union, given);
export const discriminatedUnion: typeof mini.discriminatedUnion = /* @__NO_SIDE_EFFECTS__ */ (
  ...given: unknown[]
) => builtLater(mini.discriminatedUnion, given);
export const tuple: typeof mini.tuple = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.tuple, given);
export const pipe: typeof mini.pipe = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.pipe, given);
export const transform: typeof mini.transform = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.transform, given);
export const describe: typeof mini.describe = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.describe, given);
export const meta: typeof mini.meta = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.meta, given);
export const refine: typeof mini.refine = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.refine, given);
export const superRefine: typeof mini.superRefine = /* @__NO_SIDE_EFFECTS__ */ (
  ...given: unknown[]
) => builtLater(mini.superRefine, given);
export const regex: typeof mini.regex = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.regex, given);
export const url: typeof mini.url = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.url, given);
export const minimum: typeof mini.minimum = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.minimum, given);
export const maximum: typeof mini.maximum = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.maximum, given);
export const minLength: typeof mini.minLength = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.minLength, given);
export const maxLength: typeof mini.maxLength = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.maxLength, given);
export const positive: typeof mini.positive = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.positive, given);
export const trim: typeof mini.trim = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.trim, given);
export const extend: typeof mini.extend = /* @__NO_SIDE_EFFECTS__ */ (...given: unknown[]) =>
  builtLater(mini.extend, given);
export { enumLater as enum, catchLater as catch };
