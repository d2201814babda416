/** Operations of the API, as its OpenAPI documents describe them. */
import type { Json } from "../generate/json-schema.ts";
import { operatorDocument, publicDocument } from "../generate/openapi.ts";
import { wholeSchema } from "./schemas.ts";

/** Fields of one part of a request, by name. */
interface Fields {
  schemas: Json;
  required: readonly string[];
}

export interface Operation {
  method: string;
  /** Path below the base path of its document, such as `/calls/{id}`. */
  path: string;
  summary: string;
  /** The right or role that it needs, as its description ends. Absent: any token's. */
  needs: string | undefined;
  inPath: Fields;
  inQuery: Fields;
  inBody: Fields;
  /** Schema of the answer, which contains everything that it refers to. */
  answer: Json;
}

/** Returns what finds the operations of operators or clients by their ids. */
export function readOperations(who: "operator" | "client"): (operationId: string) => Operation {
  const document = who === "operator" ? operatorDocument() : publicDocument();
  const base = who === "operator" ? "/operator" : "/v1";
  const { schemas } = document.components;
  const listed = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
  );
  return (operationId) => {
    const found = listed.find((one) => Object(one.operation).operationId === operationId);
    if (found === undefined) throw new Error(`there is no operation ${operationId}`);
    const { path, method, operation } = found;
    const {
      summary,
      description = "",
      parameters = [],
      requestBody,
      responses,
    } = Object(operation);
    const [, right] = /Needs the (r(?:ight|ole) `\w+`)/.exec(description) ?? [];
    return {
      method,
      path: path.slice(base.length),
      summary,
      needs: right?.replaceAll("`", ""),
      inPath: fieldsOf(parameters, "path"),
      inQuery: fieldsOf(parameters, "query"),
      inBody: bodyOf(wholeSchema(schemaIn(requestBody), schemas)),
      answer: wholeSchema(schemaIn(responses["200"]), schemas),
    };
  };
}

function schemaIn(part: unknown): Json {
  return Object(part).content?.["application/json"].schema ?? {};
}

function fieldsOf(parameters: readonly unknown[], place: "path" | "query"): Fields {
  const own = parameters.map(Object).filter((parameter) => parameter.in === place);
  return {
    schemas: Object.fromEntries(
      own.map(({ name, schema, description }) => [
        name,
        description === undefined ? schema : { ...schema, description },
      ]),
    ),
    required: own.flatMap(({ name, required }) => (required === true ? name : [])),
  };
}

function bodyOf({ properties = {}, required = [] }: Json): Fields {
  return { schemas: Object(properties), required: Object(required) };
}
