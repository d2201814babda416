/**
 * `zod/mini`, of whose functions a bundle contains those that it uses, with messages of this project. Every schema is made
 * by `import * as z` from here: `zod/mini` itself calls every fault "Invalid input".
 */
import { config, type ZodMiniType } from "zod/mini";
import { describeIssue } from "./issue-words.ts";

config({ localeError: describeIssue });

export * from "zod/mini";
// As `z.core.$ZodError` it would bring all of zod into the bundle.
export { $ZodError as ZodError } from "zod/v4/core";

const schemas = new WeakMap<() => ZodMiniType, ZodMiniType>();

/** Returns the schema that a function makes, which is called once: importing a module builds none of its schemas. */
export function built<Schema extends ZodMiniType>(make: () => Schema): Schema;
export function built(make: () => ZodMiniType): ZodMiniType {
  const schema = schemas.get(make) ?? make();
  schemas.set(make, schema);
  return schema;
}
