/** A value of a template, with functions in it. */
export type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

export interface ResourceDefinition {
  Type: string;
  Properties?: Record<string, Value>;
  DeletionPolicy?: string;
  Condition?: string;
}

/** A template of CloudFormation. */
export interface Template {
  Resources?: Record<string, ResourceDefinition>;
  Outputs?: Record<string, { Value: Value; Condition?: string }>;
  Parameters?: Record<string, { Type: string; Default?: Value }>;
  Conditions?: Record<string, Value>;
}

/** Values of references and conditions in a template. */
export interface Scope {
  /** Parameters, pseudo parameters and physical ids of resources, by name. */
  refs: ReadonlyMap<string, string>;
  conditions: Record<string, Value>;
}

/** Evaluates the functions of a template, as its reference describes them. Others stand for a text of their own. */
export function evaluate(value: Value, scope: Scope): Value {
  if (Array.isArray(value)) return value.map((one) => evaluate(one, scope));
  if (value === null || typeof value !== "object") return value;
  const [first, ...rest] = Object.entries(value);
  if (first !== undefined && rest.length === 0 && /^(Ref|Condition|Fn::\w+)$/.test(first[0])) {
    return callFunction(...first, scope);
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, evaluate(one, scope)]));
}

/** Returns a text as it is, and anything else as JSON. */
export const toText = (value: Value = ""): string =>
  typeof value === "string" ? value : JSON.stringify(value);

function callFunction(name: string, argument: Value, scope: Scope): Value {
  const refOf = (one: string) => scope.refs.get(one) ?? `\${${one}}`;
  if (name === "Ref") return refOf(toText(argument));
  if (name === "Fn::GetAtt" && Array.isArray(argument)) {
    const [logicalId, attribute] = argument.map((one) => toText(one));
    const physicalId = refOf(logicalId ?? "");
    return attribute === "Arn" && !physicalId.startsWith("arn:")
      ? `arn:aws:service:us-east-1:111122223333:${physicalId}`
      : physicalId;
  }
  if (name === "Condition") return holds(toText(argument), scope);
  if (name === "Fn::If" && Array.isArray(argument)) {
    const [condition, whenTrue = null, whenFalse = null] = argument;
    return evaluate(holds(toText(condition), scope) ? whenTrue : whenFalse, scope);
  }
  const found = evaluate(argument, scope);
  if (name === "Fn::Equals" && Array.isArray(found)) return found[0] === found[1];
  if (name === "Fn::Not" && Array.isArray(found)) return found[0] !== true;
  if (name === "Fn::And" && Array.isArray(found)) return found.every((one) => one === true);
  if (name === "Fn::Or" && Array.isArray(found)) return found.includes(true);
  if (name === "Fn::Join" && Array.isArray(found) && Array.isArray(found[1])) {
    return found[1].map((one) => toText(one)).join(toText(found[0]));
  }
  if (name === "Fn::Split" && Array.isArray(found)) return toText(found[1]).split(toText(found[0]));
  if (name === "Fn::Select" && Array.isArray(found) && Array.isArray(found[1])) {
    return found[1][Number(found[0])] ?? "";
  }
  if (name === "Fn::Sub") {
    return toText(found).replace(/\$\{([^}!]+)\}/g, (_, one: string) => refOf(one));
  }
  return JSON.stringify({ [name]: found });
}

/** Returns whether a condition of the template holds; one without a name does. */
export const holds = (name: string | undefined, scope: Scope): boolean =>
  name === undefined || evaluate(scope.conditions[name] ?? false, scope) === true;
