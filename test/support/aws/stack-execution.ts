import {
  evaluate,
  holds,
  type ResourceDefinition,
  type Scope,
  type Template,
  toText,
  type Value,
} from "./template.ts";

/** A resource as it stands. */
export interface Resource {
  logicalId: string;
  physicalId: string;
  type: string;
  /** Properties without functions. */
  properties: Record<string, Value>;
  definition: ResourceDefinition;
}

/** Effects of a type of resource outside its stack, such as a table that others may ask for. */
export interface ResourceHandler {
  /** Physical id of a new resource; absent: CloudFormation makes a name. */
  nameOf?(logicalId: string): string;
  create(resource: Resource): void;
  /** @throws an Error with the reason */
  update?(resource: Resource, former: Resource): void;
  /** @throws an Error with the reason for which it cannot be deleted */
  remove(resource: Resource): void;
}

export interface StackEvent {
  id: string;
  at: Date;
  logicalId: string;
  physicalId: string;
  type: string;
  status: string;
  reason?: string | undefined;
}

/** The part of a stack that an execution changes. */
export interface ExecutedStack {
  id: string;
  name: string;
  template: Template;
  resources: Map<string, Resource>;
  events: StackEvent[];
}

export interface Execution {
  target: Template;
  /** Physical ids of resources that are imported. */
  imports: ReadonlyMap<string, string>;
  handlers: ReadonlyMap<string, ResourceHandler>;
  /** Reasons for which resources of a type cannot be created or changed. */
  failures: ReadonlyMap<string, string>;
  parameters: ReadonlyMap<string, string>;
}

/** Outcome of an execution. */
type Ended = "complete" | "rolled back" | "roll-back failed";

const policiesThatKeep = new Set(["Retain", "RetainExceptOnCreate"]);
let count = 0;
export const fresh = (): string => String((count += 1)).padStart(12, "0");

export function record(
  stack: Pick<ExecutedStack, "events">,
  event: Omit<StackEvent, "id" | "at">,
): void {
  stack.events.unshift({ id: fresh(), at: new Date(), ...event });
}

/** Brings a stack to a template, or back where that fails: a new resource is deleted whatever its policy says. */
export function execute(stack: ExecutedStack, execution: Execution): Ended {
  const { target, handlers } = execution;
  const undo: (() => void)[] = [];
  try {
    for (const step of stepsOf(stack, execution)) undo.unshift(step());
  } catch {
    let isWhole = true;
    for (const one of undo) {
      try {
        one();
      } catch {
        isWhole = false;
      }
    }
    return isWhole ? "rolled back" : "roll-back failed";
  }
  for (const resource of stack.resources.values()) {
    if (target.Resources?.[resource.logicalId] !== undefined) continue;
    stack.resources.delete(resource.logicalId);
    if (policiesThatKeep.has(resource.definition.DeletionPolicy ?? "")) continue;
    handlers.get(resource.type)?.remove(resource);
  }
  stack.template = target;
  return "complete";
}

/** Deletes the resources of a stack. @returns false if one cannot be deleted */
export function removeAll(
  stack: ExecutedStack,
  { handlers }: Pick<Execution, "handlers">,
): boolean {
  let isWhole = true;
  for (const resource of [...stack.resources.values()].toReversed()) {
    if (policiesThatKeep.has(resource.definition.DeletionPolicy ?? "")) {
      stack.resources.delete(resource.logicalId);
    } else isWhole = remove(stack, resource, handlers) && isWhole;
  }
  return isWhole;
}

/** Creations and changes, in their order. Each returns what undoes it. Those that fail come last, as if all else stood. */
function stepsOf(stack: ExecutedStack, execution: Execution): (() => () => void)[] {
  const { target, handlers, failures } = execution;
  const scope = scopeOf(stack, execution);
  const all = Object.entries(target.Resources ?? {}).filter(([, { Condition }]) =>
    holds(Condition, scope),
  );
  const steps = all.flatMap(([logicalId, definition]) => {
    const former = stack.resources.get(logicalId);
    if (former !== undefined && isSame(former.definition, definition)) return [];
    const physicalId = scope.refs.get(logicalId) ?? "";
    const properties = Object(evaluate(definition.Properties ?? {}, scope));
    const next: Resource = { logicalId, physicalId, type: definition.Type, properties, definition };
    const verb = former === undefined ? "CREATE" : "UPDATE";
    const step = () => {
      const { type } = next;
      try {
        const reason = failures.get(type);
        if (reason !== undefined) throw new Error(reason);
        const handler = handlers.get(type);
        if (former !== undefined) handler?.update?.(next, former);
        else if (!execution.imports.has(logicalId)) handler?.create(next);
      } catch (error) {
        const reason = error instanceof Error ? error.message : "";
        record(stack, { logicalId, physicalId, type, status: `${verb}_FAILED`, reason });
        throw error;
      }
      stack.resources.set(logicalId, next);
      record(stack, { logicalId, physicalId, type, status: `${verb}_COMPLETE` });
      return () => undoStep(stack, { next, former, execution });
    };
    return [{ step, isLast: failures.has(next.type) }];
  });
  return steps
    .toSorted((one, other) => Number(one.isLast) - Number(other.isLast))
    .map(({ step }) => step);
}

function undoStep(
  stack: ExecutedStack,
  {
    next,
    former,
    execution,
  }: { next: Resource; former: Resource | undefined; execution: Execution },
): void {
  if (former !== undefined) {
    execution.handlers.get(next.type)?.update?.(former, next);
    stack.resources.set(next.logicalId, former);
  } else if (execution.imports.has(next.logicalId)) stack.resources.delete(next.logicalId);
  else if (!remove(stack, next, execution.handlers)) throw new Error("not deleted");
}

function remove(
  stack: ExecutedStack,
  resource: Resource,
  handlers: Execution["handlers"],
): boolean {
  const { logicalId, physicalId, type } = resource;
  try {
    handlers.get(type)?.remove(resource);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    record(stack, { logicalId, physicalId, type, status: "DELETE_FAILED", reason });
    return false;
  }
  stack.resources.delete(logicalId);
  record(stack, { logicalId, physicalId, type, status: "DELETE_COMPLETE" });
  return true;
}

/** Returns the values that references and conditions of a template have. */
export const scopeOf = (stack: ExecutedStack, execution: Omit<Execution, "failures">): Scope => ({
  refs: refsOf(stack, execution),
  conditions: execution.target.Conditions ?? {},
});

/** Names of all that a template refers to, those of resources that are to be made too. */
function refsOf(
  stack: ExecutedStack,
  { target, imports, handlers, parameters }: Omit<Execution, "failures">,
): Map<string, string> {
  const defaults = Object.entries(target.Parameters ?? {}).map(
    ([name, one]) => [name, toText(one.Default)] as const,
  );
  const names = Object.entries(target.Resources ?? {}).map(([logicalId, { Type }]) => {
    const made = () =>
      handlers.get(Type)?.nameOf?.(logicalId) ?? `${stack.name}-${logicalId}-${fresh()}`;
    const standing = stack.resources.get(logicalId)?.physicalId;
    return [logicalId, standing ?? imports.get(logicalId) ?? made()] as const;
  });
  return new Map([
    ["AWS::StackName", stack.name],
    ["AWS::StackId", stack.id],
    ["AWS::Region", "us-east-1"],
    ["AWS::AccountId", "111122223333"],
    ["AWS::Partition", "aws"],
    ["AWS::URLSuffix", "amazonaws.com"],
    ...defaults,
    ...parameters,
    ...names,
  ]);
}

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
