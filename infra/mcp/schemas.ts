import { fromJsonSchema, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { batchCallsMax, callRequestSchema } from "#shared/calls/call-request.ts";
import * as z from "#shared/lib/zod.ts";
import { type Json, jsonSchema } from "../generate/json-schema.ts";

type ToolSchema = StandardSchemaWithJSON<Json, Json>;

/** Fields of a call as tools take them. The service judges them. */
const callFields = {
  ...callRequestSchema.shape,
  context: z
    .optional(z.record(z.string(), z.string()))
    .check(z.describe("What the agent receives: texts by name")),
};

/** Schema of a list of calls. */
export const callsSchema = jsonSchema(
  z.array(z.strictObject(callFields)).check(z.minLength(1), z.maxLength(batchCallsMax)),
  "input",
);

/** Returns the schema of a call, with more fields. */
export function callWith(more: Readonly<Record<string, z.ZodMiniType>>): Json {
  return jsonSchema(z.strictObject({ ...callFields, ...more }), "input");
}

/** Returns the schema of a tool's arguments. */
export const inputOf = (schema: Json): ToolSchema => fromJsonSchema<Json>(schema);

/** Returns the schema of a tool's answer. A later version of the service may answer with more fields. */
export function outputOf(schema: Json): ToolSchema {
  const text = JSON.stringify(schema, (key, value: unknown) =>
    key === "additionalProperties" && value === false ? undefined : value,
  );
  return fromJsonSchema<Json>(JSON.parse(text));
}

/** Returns a schema that contains everything it refers to. */
export function wholeSchema(schema: Json, components: Json): Json {
  const { $ref, ...root } = schema;
  const whole: Json = { ...root, ...(typeof $ref === "string" && Object(named($ref, components))) };
  const $defs: Json = {};
  const add = (part: unknown) => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (Object.hasOwn($defs, name)) continue;
      $defs[name] = components[name];
      add($defs[name]);
    }
  };
  add(whole);
  const found = Object.keys($defs).length === 0 ? whole : { ...whole, $defs };
  return JSON.parse(JSON.stringify(found).replaceAll("#/components/schemas/", "#/$defs/"));
}

const named = (reference: string, components: Json) =>
  components[reference.split("/").at(-1) ?? ""];
