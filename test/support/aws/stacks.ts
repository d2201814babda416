import {
  type ExecutedStack,
  execute,
  type Execution,
  fresh,
  isSame,
  record,
  removeAll,
  type ResourceHandler,
  scopeOf,
} from "./stack-execution.ts";
import { evaluate, type Template, toText } from "./template.ts";

export interface ChangeSet {
  id: string;
  name: string;
  type: string;
  target: Template;
  imports: Map<string, string>;
  parameters: Map<string, string>;
  isEmpty: boolean;
  at: Date;
}

export interface Stack extends ExecutedStack {
  status: string;
  /** Status while an operation is in progress, and the looks for which it still is. */
  progress: { status: string; looks: number } | undefined;
  isProtected: boolean;
  outputs: Map<string, string>;
  parameters: Map<string, string>;
  changeSets: Map<string, ChangeSet>;
  at: Date;
}

/** A refusal of CloudFormation: its code and message. */
export class Refused extends Error {
  readonly code: string;
  constructor(message: string, code = "ValidationError") {
    super(message);
    this.code = code;
  }
}

/** The stacks of an account and region. */
export interface Stacks {
  all: Stack[];
  handlers: Map<string, ResourceHandler>;
  /** Reasons for which resources of a type cannot be created or changed. */
  failures: Map<string, string>;
  /** Looks for which each execution is in progress. */
  looks: number;
}

export const createStacks = (): Stacks => ({
  all: [],
  handlers: new Map(),
  failures: new Map(),
  looks: 0,
});

export const statusOf = ({ status, progress }: Stack): string => progress?.status ?? status;

/** Finds a stack by its name, unless it is deleted, or by its id. */
export function findStack({ all }: Stacks, key: string): Stack | undefined {
  return all.find(
    ({ id, name, status }) => id === key || (name === key && status !== "DELETE_COMPLETE"),
  );
}

export function stackNamed(stacks: Stacks, key: string): Stack {
  const stack = findStack(stacks, key);
  if (stack === undefined) throw new Refused(`Stack [${key}] does not exist`);
  return stack;
}

type Asked = Pick<ChangeSet, "name" | "type" | "target" | "imports" | "parameters">;

/** Creates a change set, and with one of type CREATE the stack, which is then in review. */
export function createChangeSet(
  stacks: Stacks,
  stackName: string,
  asked: Asked,
): [Stack, ChangeSet] {
  const stack =
    asked.type === "CREATE" ? stackToCreate(stacks, stackName) : stackNamed(stacks, stackName);
  const status = statusOf(stack);
  const isStanding = /^(CREATE|UPDATE|UPDATE_ROLLBACK|IMPORT|IMPORT_ROLLBACK)_COMPLETE$/.test(
    status,
  );
  if (asked.type !== "CREATE" && !isStanding) {
    throw new Refused(`Stack:${stack.id} is in ${status} state and can not be updated.`);
  }
  if (asked.type === "IMPORT") requireImportAlone(stacks, stack, asked);
  if (stack.changeSets.has(asked.name)) {
    throw new Refused(`ChangeSet ${asked.name} already exists`, "AlreadyExistsException");
  }
  const isEmpty = asked.type === "UPDATE" && isSame(stack.template, asked.target);
  const id = `arn:aws:cloudformation:us-east-1:111122223333:changeSet/${asked.name}/${fresh()}`;
  const made: ChangeSet = { ...asked, id, isEmpty, at: new Date() };
  stack.changeSets.set(asked.name, made);
  return [stack, made];
}

function stackToCreate(stacks: Stacks, name: string): Stack {
  const found = findStack(stacks, name);
  if (found !== undefined && found.status !== "REVIEW_IN_PROGRESS") {
    throw new Refused(
      `Stack [${name}] already exists and cannot be created again with the changeSet.`,
    );
  }
  if (found !== undefined) return found;
  const made: Stack = {
    id: `arn:aws:cloudformation:us-east-1:111122223333:stack/${name}/${fresh()}-0000`,
    name,
    status: "REVIEW_IN_PROGRESS",
    progress: undefined,
    isProtected: false,
    template: {},
    resources: new Map(),
    events: [],
    outputs: new Map(),
    parameters: new Map(),
    changeSets: new Map(),
    at: new Date(),
  };
  stacks.all.unshift(made);
  return made;
}

/** Has a stack stand, as somebody has made it. */
export function putStack(stacks: Stacks, name: string, target: Template): Stack {
  const asked = {
    name: "first",
    type: "CREATE",
    target,
    imports: new Map(),
    parameters: new Map(),
  };
  const [stack, { id }] = createChangeSet(stacks, name, asked);
  executeChangeSet(stacks, stack, id);
  return stack;
}

/** Refuses what an import may not do: it changes no other resource and no output, and each import has a deletion policy. */
function requireImportAlone({ all }: Stacks, stack: Stack, { target, imports }: Asked): void {
  const before = stack.template.Resources ?? {};
  const after = target.Resources ?? {};
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((one) => !imports.has(one) && !isSame(before[one], after[one]));
  if (changed.length > 0) {
    throw new Refused(
      `You have modified resources [${changed.join(", ")}] in your template that are not being imported. Update, create or ` +
        "delete operations cannot be executed during import operations.",
    );
  }
  if (!isSame(stack.template.Outputs, target.Outputs)) {
    throw new Refused("As part of the import operation, you cannot modify or add [Outputs]");
  }
  for (const [logicalId, physicalId] of imports) {
    if (after[logicalId]?.DeletionPolicy === undefined) {
      throw new Refused(
        `Resource [${logicalId}] must have DeletionPolicy attribute specified in the template.`,
      );
    }
    const owner = all.find(({ resources }) =>
      [...resources.values()].some((one) => one.physicalId === physicalId),
    );
    if (owner !== undefined) throw new Refused(`${physicalId} already exists in stack ${owner.id}`);
  }
}

/** Executes a change set. Its stack is in progress for some looks, and then as it became. */
export function executeChangeSet(stacks: Stacks, stack: Stack, key: string): void {
  const set = [...stack.changeSets.values()].find(({ id, name }) => id === key || name === key);
  if (set === undefined)
    throw new Refused(`ChangeSet [${key}] does not exist`, "ChangeSetNotFound");
  if (statusOf(stack).endsWith("_IN_PROGRESS") && stack.status !== "REVIEW_IN_PROGRESS") {
    throw new Refused(`Stack:${stack.id} is in ${statusOf(stack)} state and can not be updated.`);
  }
  stack.changeSets.clear();
  const verb = set.type;
  begin(stacks, stack, `${verb}_IN_PROGRESS`);
  const execution: Execution = { ...stacks, ...set };
  const ended = execute(stack, execution);
  const rolledBack = verb === "CREATE" ? "ROLLBACK" : `${verb}_ROLLBACK`;
  stack.status = {
    complete: `${verb}_COMPLETE`,
    "rolled back": `${rolledBack}_COMPLETE`,
    "roll-back failed": `${rolledBack}_FAILED`,
  }[ended];
  // Its template is known, although nothing of it may stand.
  if (verb === "CREATE") stack.template = set.target;
  if (ended === "complete") {
    stack.parameters = set.parameters;
    const scope = scopeOf(stack, execution);
    stack.outputs = new Map(
      Object.entries(set.target.Outputs ?? {}).map(([name, { Value }]) => [
        name,
        toText(evaluate(Value, scope)),
      ]),
    );
  }
  end(stack);
}

/** Deletes a stack, but for what its template keeps. */
export function deleteStack(stacks: Stacks, stack: Stack): void {
  if (stack.isProtected) {
    throw new Refused(
      `Stack [${stack.name}] cannot be deleted while TerminationProtection is enabled`,
    );
  }
  begin(stacks, stack, "DELETE_IN_PROGRESS");
  stack.changeSets.clear();
  stack.status = removeAll(stack, stacks) ? "DELETE_COMPLETE" : "DELETE_FAILED";
  end(stack);
}

function begin({ looks }: Stacks, stack: Stack, status: string): void {
  if (looks > 0) stack.progress = { status, looks };
  const { id, name } = stack;
  record(stack, { logicalId: name, physicalId: id, type: "AWS::CloudFormation::Stack", status });
}

function end(stack: Stack): void {
  const { id, name, status } = stack;
  record(stack, { logicalId: name, physicalId: id, type: "AWS::CloudFormation::Stack", status });
}
