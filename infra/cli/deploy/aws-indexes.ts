import { dynamoTable } from "#shared/aws/dynamodb-table.ts";
import { DeployError } from "./tools.ts";

/** Keys of an index of the ledger's table. */
interface IndexKeys {
  hashKey: string;
  rangeKey: string;
  /** True if it holds more than keys. */
  hasMore?: boolean;
}

/** Indexes of a table by name. */
export type Indexes = Record<string, IndexKeys>;

/** The indexes that this version uses. */
export const targetIndexes: Indexes = dynamoTable.indexes;

/**
 * Returns the names of the indexes that are to be made and to be removed.
 *
 * @throws DeployError if an index has the name of another one: its change would leave a time without either
 */
export function changeOf(
  current: Indexes,
  target: Indexes,
): Record<"add" | "remove", readonly string[]> {
  for (const [name, { hashKey, rangeKey }] of Object.entries(target)) {
    const found = current[name];
    if (found === undefined) continue;
    if (found.hashKey !== hashKey || found.rangeKey !== rangeKey || found.hasMore === true) {
      throw new DeployError(
        `The index ${name} of the table has other keys or attributes than this version's. Give the new one another name.`,
      );
    }
  }
  return {
    add: Object.keys(target).filter((name) => !(name in current)),
    remove: Object.keys(current).filter((name) => !(name in target)),
  };
}

/**
 * Returns the steps from the present indexes to this version's, the last one left out. CloudFormation makes or removes one
 * index in an update. New ones are made first: until its last step the table has all that either version reads.
 *
 * @throws DeployError as `changeOf`
 */
export function indexSteps(current: Indexes, target: Indexes = targetIndexes): Indexes[] {
  const { add, remove } = changeOf(current, target);
  const all = { ...target, ...current };
  const without = (names: readonly string[]): Indexes =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)));
  const steps = [
    ...add.map((_, index) => without(add.slice(index + 1))),
    ...remove.map((_, index) => without(remove.slice(0, index + 1))),
  ];
  return steps.slice(0, -1);
}
