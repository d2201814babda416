import { fromJsonSchema, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { callRequestSchema } from "../../shared/calls/call-request.ts";
import * as z from "../../shared/lib/zod.ts";
import { type Json, jsonSchema } from "../generate/json-schema.ts";

/** Fields of a call as tools take them. The service judges them. */
export const callFields = {
  ...callRequestSchema.shape,
  context: z
    .optional(z.record(z.string(), z.string()))
    .check(z.describe("What the agent receives: texts by name")),
};

/** Returns the schema of a tool's arguments. */
export function inputOf(schema: z.core.$ZodType): StandardSchemaWithJSON<Json, Json> {
  return fromJsonSchema<Json>(wholeSchema(schema, "input"));
}

/** Returns the schema of a tool's answer. A later version of the service may answer with more fields. */
export function outputOf(schema: z.core.$ZodType): StandardSchemaWithJSON<Json, Json> {
  const text = JSON.stringify(wholeSchema(schema, "output"), (key, value: unknown) =>
    key === "additionalProperties" && value === false ? undefined : value,
  );
  return fromJsonSchema<Json>(JSON.parse(text));
}

/** Converts a schema to one that contains everything it refers to. */
function wholeSchema(schema: z.core.$ZodType, io: "input" | "output"): Json {
  const components: Json = {};
  const { $ref, ...root } = jsonSchema(schema, io, components);
  const name = $ref?.split("/").at(-1);
  const { [name ?? ""]: named, ...others } = components;
  const $defs = Object.keys(others).length === 0 ? undefined : others;
  const whole = { ...root, ...Object(named), type: "object", $defs };
  return JSON.parse(JSON.stringify(whole).replaceAll("#/components/schemas/", "#/$defs/"));
}
