import { Validator } from "@cfworker/json-schema";
import operatorJson from "#functions/api/generated/served/operator-openapi.json" with { type: "json" };
import publicJson from "#functions/api/generated/served/openapi.json" with { type: "json" };

type Json = Record<string, unknown>;

/** Headers of every answer, which the documents leave out. */
const plainHeaders = new Set(["content-type", "date", "connection", "keep-alive"]);

/** An answer that was declared: where it stands, and the document that it stands in. */
interface Declared {
  at: string;
  answer: Json;
  document: Json;
}

const objectIn = (value: unknown, ...names: string[]): Json =>
  names.reduce((found: Json, name) => Object(found[name]), Object(value));
const isParameter = (template: string) => Number(template.includes("{"));
/** Paths of the documents with their operations. Those without parameters come first. */
const paths = [publicJson, operatorJson].flatMap((document: Json) =>
  Object.entries(objectIn(document, "paths"))
    .toSorted(([one], [other]) => isParameter(one) - isParameter(other))
    .map(([template, operations]) => {
      const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
      return { template, pattern, operations: objectIn(operations), document };
    }),
);
const validators = new Map<string, Validator>();

/**
 * Wraps an API so that each of its answers is compared with the OpenAPI documents: its status, headers, media type and
 * body, and problems too. A field or header that the documents do not name is a fault, although clients must ignore it.
 *
 * @throws in `request`, with every fault of the answer
 */
export function validated<
  Api extends { request(path: string, init?: RequestInit): Promise<Response> },
>(api: Api): Api {
  return {
    ...api,
    async request(path: string, init: RequestInit = {}) {
      const response = await api.request(path, init);
      const { method = "GET" } = init;
      const faults = await faultsOf({ method, path }, response.clone());
      if (faults.length === 0) return response;
      throw new Error(`${method} ${path} answered ${response.status}: ${faults.join("; ")}`);
    },
  };
}

/** Returns what an answer has otherwise than the documents declare. */
export async function faultsOf(
  { method, path }: { method: string; path: string },
  response: Response,
): Promise<string[]> {
  const declared = findDeclared(method, path, response.status);
  if (typeof declared === "string") return [declared];
  if (declared === undefined) return [];
  const text = method === "HEAD" ? undefined : await response.text();
  return [...faultsOfHeaders(response, declared), ...faultsOfBody(response, text, declared)];
}

/** Returns the answer that is declared; undefined for a path that the documents do not name; otherwise the fault. */
function findDeclared(method: string, path: string, status: number): Declared | string | undefined {
  const [plain = ""] = path.split("?");
  const found = paths.find(({ pattern }) => pattern.test(plain));
  if (found === undefined) return undefined;
  const { template, operations, document } = found;
  const name = method === "HEAD" ? "get" : method.toLowerCase();
  // Other methods are answered as every operation of the path declares.
  const operation = objectIn(operations[name] ?? Object.values(operations)[0]);
  const answer = objectIn(operation, "responses", String(status));
  const at = `${name} ${template} ${status}`;
  if (Object.keys(answer).length === 0) return `${at} is not declared`;
  if (operations[name] === undefined && ![401, 404, 405].includes(status))
    return `${name} ${template} is not declared, and not answered 405`;
  return { at, answer: resolved(answer, document), document };
}

/** Returns the object that a reference names, or the object itself. */
function resolved(value: Json, document: Json): Json {
  const { $ref } = value;
  return typeof $ref === "string" ? objectIn(document, ...$ref.split("/").slice(1)) : value;
}

function faultsOfHeaders({ headers }: Response, { at, answer, document }: Declared): string[] {
  const declared = new Map(
    Object.entries(objectIn(answer, "headers")).map(([name, header]) => [
      name.toLowerCase(),
      resolved(objectIn(header), document),
    ]),
  );
  const unknown = [...headers.keys()]
    .filter((name) => !declared.has(name) && !plainHeaders.has(name))
    .map((name) => `the header ${name} is not declared`);
  const wrong = [...declared].flatMap(([name, header]) => {
    const value = headers.get(name);
    if (value === null) return name === "x-request-id" ? [`the header ${name} is missing`] : [];
    const schema = objectIn(header, "schema");
    const parsed = schema["type"] === "integer" ? Number(value) : value;
    const faults = faultsOfValue(parsed, schema, { at: `${at} ${name}`, document });
    return faults.map((fault) => `the header ${name}: ${fault}`);
  });
  return [...unknown, ...wrong];
}

function faultsOfBody(
  { headers }: Response,
  text: string | undefined,
  { at, answer, document }: Declared,
): string[] {
  const content = objectIn(answer, "content");
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  if (Object.keys(content).length === 0) return text ? ["it has a body"] : [];
  if (content[type] === undefined) return [`the media type ${type} is not declared`];
  if (text === undefined) return [];
  let body: unknown = text;
  if (type.endsWith("json")) {
    try {
      body = JSON.parse(text);
    } catch {
      return ["the body is no JSON"];
    }
  }
  return faultsOfValue(body, objectIn(content, type, "schema"), { at: `${at} ${type}`, document });
}

function faultsOfValue(
  value: unknown,
  schema: Json,
  { at, document }: { at: string; document: Json },
): string[] {
  let validator = validators.get(at);
  if (validator === undefined) {
    const $defs = definitionsFor(schema, objectIn(document, "components", "schemas"));
    validator = new Validator(closed({ ...schema, $defs }), "2020-12", false);
    validators.set(at, validator);
  }
  const { valid, errors } = validator.validate(value);
  return valid
    ? []
    : errors.slice(-3).map(({ instanceLocation, error }) => `${instanceLocation} ${error}`);
}

/** Returns the definitions that a schema refers to, itself or through others. To prepare all of them takes long. */
function definitionsFor(schema: Json, all: Json): Json {
  const found: Json = {};
  const add = (one: unknown): void => {
    for (const [, name = ""] of JSON.stringify(one).matchAll(
      /"#\/components\/schemas\/([^"]+)"/g,
    )) {
      if (name in found) continue;
      found[name] = all[name];
      add(all[name]);
    }
  };
  add(schema);
  return found;
}

/** Returns a schema without room for fields that it does not name, and with references within itself. */
function closed(schema: object): object {
  const text = JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/");
  return JSON.parse(text, (_name, value: unknown) => {
    if (typeof value !== "object" || value === null || !("properties" in value)) return value;
    const { additionalProperties = {} } = value as Json;
    const isOpen = JSON.stringify(additionalProperties) === "{}";
    return isOpen ? { ...value, additionalProperties: false } : value;
  });
}
