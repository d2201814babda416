/**
 * `zod/mini`, from which a bundle contains only the functions used, with error messages of this project: `zod/mini`
 * itself says "Invalid input" of every fault. Every schema is made with `import * as z` from this file.
 */
import { config, type ZodMiniType } from "zod/mini";
import type { $ZodRawIssue } from "zod/v4/core";

config({ localeError: describeIssue });

export * from "./later-schemas.ts";
// Using `z.core.$ZodError` would put all of zod into the bundle.
export { $ZodError as ZodError } from "zod/v4/core";

const schemas = new WeakMap<() => ZodMiniType, ZodMiniType>();

/** Returns the schema that `make` builds, calling `make` once. Thus importing a module builds none of its schemas. */
export function built<Schema extends ZodMiniType>(make: () => Schema): Schema;
export function built(make: () => ZodMiniType): ZodMiniType {
  const schema = schemas.get(make) ?? make();
  schemas.set(make, schema);
  return schema;
}

/** Names of the types that schemas expect. */
const types: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

/** Describes an issue in words that follow the field's name, such as "must be a string". */
function describeIssue(issue: $ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      return `must be ${types[issue.expected] ?? `of the type ${issue.expected}`}`;
    case "invalid_value": {
      const values = issue.values.map(String);
      return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(", ")}`;
    }
    case "too_big":
      return `must ${boundOf(issue, ["at most", "less than"])} ${issue.maximum}${unitOf(issue.origin)}`;
    case "too_small":
      return `must ${boundOf(issue, ["at least", "more than"])} ${issue.minimum}${unitOf(issue.origin)}`;
    case "invalid_format":
      return formatText(issue.format, issue.pattern);
    case "unrecognized_keys":
      return `must not have ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_key":
      return "must not have such a key";
    case "invalid_union":
    case "invalid_element":
    case "custom":
      return "has none of the permitted forms";
  }
}

/** Units of what is counted; a number is not. */
const units: Record<string, string> = { string: " characters", array: " entries", map: " entries" };
const unitOf = (origin: string) => units[origin] ?? "";

function boundOf(
  { origin, inclusive: isInclusive }: { origin: string; inclusive?: boolean | undefined },
  [inclusive, exclusive]: readonly [string, string],
): string {
  const verb = origin === "string" || origin in units ? "have" : "be";
  return `${verb} ${isInclusive === false ? exclusive : inclusive}`;
}

function formatText(format: string, pattern: string | undefined): string {
  switch (format) {
    case "datetime":
      return "must be a time such as 2026-11-21T09:00:00Z";
    case "date":
      return "must be a date such as 2026-11-21";
    case "url":
      return "must be a URL";
    default:
      return pattern === undefined ? "is malformed" : `must match ${pattern}`;
  }
}
