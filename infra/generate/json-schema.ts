import * as z from "#shared/lib/zod.ts";

export type Json = Record<string, unknown>;
type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * Converts a schema to the JSON Schema of an OpenAPI document. A schema that has an id is put into `components`, and
 * referred to.
 *
 * @param io the side of transforms and defaults that is described: requests or answers
 */
export function jsonSchema(
  schema: z.core.$ZodType,
  io: "input" | "output",
  components: Json = {},
): JsonSchema {
  const made = z.toJSONSchema(z.real(schema), { io, unrepresentable: "any", override });
  const { $schema: _, $defs = {}, id, ...root } = withReferences(made);
  for (const [name, { id: __, ...component }] of Object.entries($defs)) {
    components[name] = component;
  }
  if (id === undefined) return root;
  components[id] = root;
  return { $ref: reference(id) };
}

/** True if a field with this schema must be there. */
export function isRequired(schema: z.core.$ZodType): boolean {
  return !z.safeParse(schema, undefined).success;
}

const reference = (name: string) => `#/components/schemas/${name}`;

function withReferences(made: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(made).replaceAll("#/$defs/", reference("")));
}

/** Removes keywords that repeat another one. */
function override({ jsonSchema: made }: { jsonSchema: JsonSchema }): void {
  if (made.format === "date-time") delete made.pattern;
  if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
  if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
  if (JSON.stringify(made.propertyNames) === '{"type":"string"}') delete made.propertyNames;
}
