import { parse } from "yaml";
import { type AwsService, xmlAnswer, type XmlObject, xmlRefusal } from "./endpoint.ts";
import {
  type ChangeSet,
  createChangeSet,
  deleteStack,
  executeChangeSet,
  findStack,
  Refused,
  type Stack,
  stackNamed,
  type Stacks,
  statusOf,
} from "./stacks.ts";
import type { Template } from "./template.ts";

/**
 * CloudFormation, as its API reference describes the operations that cdk and the deploy command use. A stack is as
 * `stacks.ts` keeps it.
 *
 * @param readObject returns the text of an object of S3 by its URL
 */
export function createCloudFormation(
  stacks: Stacks,
  readObject: (url: string) => string,
): AwsService {
  return {
    operationOf: ({ body }) => new URLSearchParams(body.toString()).get("Action") ?? "",
    refuse: xmlRefusal,
    answer({ body }, action) {
      const asked = new URLSearchParams(body.toString());
      try {
        const operation = operations[action];
        if (operation === undefined) throw new Refused(action, "InvalidAction");
        return xmlAnswer(action, operation(stacks, asked, readObject));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return xmlRefusal(error.code, error.message);
      }
    },
  };
}

type Operation = (
  stacks: Stacks,
  asked: URLSearchParams,
  readObject: (url: string) => string,
) => XmlObject;

/** Returns the members of a list of the Query protocol, each by the names of its fields. */
function membersOf(asked: URLSearchParams, list: string): Map<string, string>[] {
  const found = new Map<string, Map<string, string>>();
  const pattern = new RegExp(`^${list}\\.member\\.(\\d+)\\.(.+)$`);
  for (const [key, value] of asked) {
    const [, index = "", field = ""] = pattern.exec(key) ?? [];
    if (index === "") continue;
    found.set(index, (found.get(index) ?? new Map<string, string>()).set(field, value));
  }
  return [...found.values()];
}

/** Reads a template, as JSON or as YAML. */
function templateIn(asked: URLSearchParams, readObject: (url: string) => string): Template {
  const text = asked.get("TemplateBody") ?? readObject(asked.get("TemplateURL") ?? "");
  return text.startsWith("{") ? JSON.parse(text) : parse(text);
}

const nameIn = (asked: URLSearchParams) => asked.get("StackName") ?? "";
const stackIn = (stacks: Stacks, asked: URLSearchParams) => stackNamed(stacks, nameIn(asked));

const operations: Record<string, Operation> = {
  DescribeStacks(stacks, asked) {
    const key = nameIn(asked);
    const stack = findStack(stacks, key);
    if (stack === undefined) throw new Refused(`Stack with id ${key} does not exist`);
    const described = describe(stack);
    if (stack.progress !== undefined) {
      stack.progress.looks -= 1;
      if (stack.progress.looks <= 0) stack.progress = undefined;
    }
    return { Stacks: [described] };
  },
  GetTemplate: (stacks, asked) => ({
    TemplateBody: JSON.stringify(stackIn(stacks, asked).template),
    StagesAvailable: ["Original", "Processed"],
  }),
  GetTemplateSummary: (_, asked, readObject) => {
    const template = templateIn(asked, readObject);
    return { ResourceTypes: Object.values(template.Resources ?? {}).map(({ Type }) => Type) };
  },
  CreateChangeSet(stacks, asked, readObject) {
    const imports = membersOf(asked, "ResourcesToImport").map(
      (one) =>
        [
          one.get("LogicalResourceId") ?? "",
          one.get("ResourceIdentifier.entry.1.value") ?? "",
        ] as const,
    );
    const former = findStack(stacks, nameIn(asked))?.parameters;
    const parameters = membersOf(asked, "Parameters").map((one) => {
      const name = one.get("ParameterKey") ?? "";
      const isKept = one.get("UsePreviousValue") === "true";
      return [name, (isKept ? former?.get(name) : one.get("ParameterValue")) ?? ""] as const;
    });
    const [stack, set] = createChangeSet(stacks, nameIn(asked), {
      name: asked.get("ChangeSetName") ?? "",
      type: asked.get("ChangeSetType") ?? "UPDATE",
      target: templateIn(asked, readObject),
      imports: new Map(imports),
      parameters: new Map(parameters),
    });
    return { Id: set.id, StackId: stack.id };
  },
  DescribeChangeSet(stacks, asked) {
    const stack = stackIn(stacks, asked);
    const key = asked.get("ChangeSetName") ?? "";
    const set = [...stack.changeSets.values()].find(({ id, name }) => id === key || name === key);
    if (set === undefined)
      throw new Refused(`ChangeSet [${key}] does not exist`, "ChangeSetNotFound");
    return describeChangeSet(stack, set);
  },
  DeleteChangeSet(stacks, asked) {
    const key = asked.get("ChangeSetName") ?? "";
    const { changeSets } = stackIn(stacks, asked);
    for (const { id, name } of changeSets.values())
      if (key === id || key === name) changeSets.delete(name);
    return {};
  },
  ExecuteChangeSet(stacks, asked) {
    executeChangeSet(stacks, stackIn(stacks, asked), asked.get("ChangeSetName") ?? "");
    return {};
  },
  UpdateTerminationProtection(stacks, asked) {
    const stack = stackIn(stacks, asked);
    stack.isProtected = asked.get("EnableTerminationProtection") === "true";
    return { StackId: stack.id };
  },
  DeleteStack(stacks, asked) {
    const stack = findStack(stacks, nameIn(asked));
    if (stack !== undefined) deleteStack(stacks, stack);
    return {};
  },
  DescribeStackEvents: (stacks, asked) => ({ StackEvents: eventsOf(stackIn(stacks, asked)) }),
  DescribeEvents: (stacks, asked) => ({ OperationEvents: eventsOf(stackIn(stacks, asked)) }),
  DescribeStackResources: (stacks, asked) => ({
    StackResources: [...stackIn(stacks, asked).resources.values()].map(
      ({ logicalId, physicalId, type }) => ({
        LogicalResourceId: logicalId,
        PhysicalResourceId: physicalId,
        ResourceType: type,
        ResourceStatus: "CREATE_COMPLETE",
        Timestamp: new Date(),
      }),
    ),
  }),
  ListStackResources: (stacks, asked) => ({
    StackResourceSummaries: [...stackIn(stacks, asked).resources.values()].map(
      ({ logicalId, physicalId, type }) => ({
        LogicalResourceId: logicalId,
        PhysicalResourceId: physicalId,
        ResourceType: type,
        ResourceStatus: "CREATE_COMPLETE",
        LastUpdatedTimestamp: new Date(),
      }),
    ),
  }),
};

function describe(stack: Stack): XmlObject {
  const isComplete = !/ROLLBACK_|REVIEW|DELETE/.test(stack.status);
  return {
    StackId: stack.id,
    StackName: stack.name,
    CreationTime: stack.at,
    StackStatus: statusOf(stack),
    EnableTerminationProtection: stack.isProtected,
    DisableRollback: false,
    Parameters: [...stack.parameters].map(([ParameterKey, ParameterValue]) => ({
      ParameterKey,
      ParameterValue,
    })),
    Outputs:
      isComplete || /^(UPDATE|IMPORT)_/.test(stack.status)
        ? [...stack.outputs].map(([OutputKey, OutputValue]) => ({ OutputKey, OutputValue }))
        : [],
    Tags: [],
    NotificationARNs: [],
  };
}

function describeChangeSet(stack: Stack, set: ChangeSet): XmlObject {
  const before = stack.template.Resources ?? {};
  const after = set.target.Resources ?? {};
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const actionOf = (one: string) => {
    if (set.imports.has(one)) return "Import";
    if (before[one] === undefined) return "Add";
    if (after[one] === undefined) return "Remove";
    return JSON.stringify(before[one]) === JSON.stringify(after[one]) ? undefined : "Modify";
  };
  return {
    ChangeSetName: set.name,
    ChangeSetId: set.id,
    StackId: stack.id,
    StackName: stack.name,
    CreationTime: set.at,
    ExecutionStatus: set.isEmpty ? "UNAVAILABLE" : "AVAILABLE",
    Status: set.isEmpty ? "FAILED" : "CREATE_COMPLETE",
    StatusReason: set.isEmpty
      ? "The submitted information didn't contain changes. Submit different information to create a change set."
      : undefined,
    Changes: names.flatMap((one) => {
      const Action = actionOf(one);
      const ResourceType = (after[one] ?? before[one])?.Type;
      if (Action === undefined) return [];
      const ResourceChange = { Action, LogicalResourceId: one, ResourceType, Replacement: "False" };
      return [{ Type: "Resource", ResourceChange }];
    }),
  };
}

const eventsOf = ({ id, name, events }: Stack): XmlObject[] =>
  events.map((event) => ({
    StackId: id,
    EventId: event.id,
    StackName: name,
    LogicalResourceId: event.logicalId,
    PhysicalResourceId: event.physicalId,
    ResourceType: event.type,
    Timestamp: event.at,
    ResourceStatus: event.status,
    ResourceStatusReason: event.reason,
  }));
