import { loadAwsServiceSpec } from "@aws-cdk/aws-service-spec";
import type { Property, PropertyType, SpecDatabase } from "@aws-cdk/service-spec-types";

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
/** True for `Ref` and the functions of CloudFormation, whose values are known at deployment alone. */
const isIntrinsic = (value: unknown): boolean =>
  isObject(value) &&
  Object.keys(value).length === 1 &&
  /^(Ref|Fn::.+)$/.test(Object.keys(value)[0] ?? "");

/** Creates a check of CloudFormation templates against AWS's own specification of its resources. */
export async function createSpecificationCheck() {
  const database = await loadAwsServiceSpec();
  return {
    /** Returns each fault of a template's resources: unknown types and properties, missing ones, values of a wrong type. */
    faultsOf(resources: Record<string, { Type: string; Properties?: Fields }>): string[] {
      return Object.entries(resources).flatMap(([id, { Type, Properties = {} }]) => {
        const [resource] = database.lookup("resource", "cloudFormationType", "equals", Type);
        if (resource === undefined) return [`${id}: ${Type} is no type of resource`];
        return faultsOfFields(Properties, resource.properties, `${id} (${Type})`, database);
      });
    },
  };
}

function faultsOfFields(
  fields: Fields,
  properties: Record<string, Property>,
  at: string,
  database: SpecDatabase,
): string[] {
  const missing = Object.entries(properties)
    .filter(([name, { required }]) => required === true && fields[name] === undefined)
    .map(([name]) => `${at} lacks ${name}`);
  const wrong = Object.entries(fields).flatMap(([name, value]) => {
    const property = properties[name];
    if (property === undefined) return [`${at} has no ${name}`];
    return faultsOfValue(value, property.type, `${at}.${name}`, database);
  });
  return [...missing, ...wrong];
}

function faultsOfValue(
  value: unknown,
  type: PropertyType,
  at: string,
  database: SpecDatabase,
): string[] {
  if (isIntrinsic(value)) return [];
  const isNot = [`${at} is no ${type.type}: ${JSON.stringify(value)}`];
  switch (type.type) {
    case "string":
      return typeof value === "string" ? [] : isNot;
    case "integer":
      return Number.isInteger(value) ? [] : isNot;
    case "number":
      return typeof value === "number" ? [] : isNot;
    case "boolean":
      return typeof value === "boolean" ? [] : isNot;
    case "array":
      if (!Array.isArray(value)) return isNot;
      return value.flatMap((one, index) =>
        faultsOfValue(one, type.element, `${at}[${index}]`, database),
      );
    case "map":
      if (!isObject(value)) return isNot;
      return Object.entries(value).flatMap(([name, one]) =>
        faultsOfValue(one, type.element, `${at}.${name}`, database),
      );
    case "ref": {
      if (!isObject(value)) return isNot;
      const { properties } = database.get("typeDefinition", type.reference.$ref);
      return faultsOfFields(value, properties, at, database);
    }
    case "union": {
      const all = type.types.map((one) => faultsOfValue(value, one, at, database));
      return all.toSorted((a, b) => a.length - b.length)[0] ?? [];
    }
    case "tag":
      return isObject(value) && "Key" in value && "Value" in value ? [] : isNot;
    case "json":
    case "date-time":
    case "null":
      return [];
  }
}
