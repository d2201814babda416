import { countStatements, subrequest } from "./invocation.ts";

/**
 * Maximum bytes of JSON in one bound parameter. D1 allows 100 parameters per statement and 2 MB per value, so
 * items travel as JSON arrays, in several statements of one transaction if they are large.
 */
const parameterBytesMax = 400_000;
/** Maximum bytes of a value and of a row. The local engine takes more. https://developers.cloudflare.com/d1/platform/limits/ */
const valueBytesMax = 2_000_000;
/** Maximum chunks of one transaction: 4 MB of parameters. */
const chunksMax = 10;

/** Returns a function that runs one statement and resolves to its rows. */
export function queryOn(database: D1Database) {
  return async <Row>(sql: string, ...bound: unknown[]): Promise<Row[]> => {
    countStatements(1);
    for (const one of bound) if (typeof one === "string") requireSize(one);
    const statement = database.prepare(sql).bind(...bound);
    return (await subrequest(() => statement.all<Row>(), { isStatement: true })).results;
  };
}

/** @throws if D1 would refuse a value: the local engine takes more */
function requireSize(value: string): void {
  // A character has three bytes at most, so short values are not counted.
  const bytes = value.length * 3 > valueBytesMax ? Buffer.byteLength(value) : 0;
  if (bytes > valueBytesMax) throw new Error(`D1 takes no value of ${bytes} bytes`);
}

/** Divides items of JSON, in order, into parts that fit into one parameter each, as an array. */
export function inParameters(items: readonly string[]): string[][] {
  const parts: string[][] = [];
  let bytes = 0;
  for (const item of items) {
    const part = parts.at(-1);
    const length = Buffer.byteLength(item) + 1;
    bytes += length;
    if (part !== undefined && bytes <= parameterBytesMax) part.push(item);
    else {
      parts.push([item]);
      bytes = length;
    }
  }
  return parts;
}

/** Runs a statement for each part of the items, which are its first parameter. Resolves to the rows of each. */
export function queryParts<Row>(
  all: ReturnType<typeof queryOn>,
  { sql, parts }: { sql: string; parts: readonly string[][] },
  ...bound: unknown[]
): Promise<Row[][]> {
  return Promise.all(parts.map((part) => all<Row>(sql, `[${part.join()}]`, ...bound)));
}

/** One write of an item, conditional on its version. */
export interface VersionedWrite {
  /** Value of the column `name` that both statements return for the item. */
  name: string;
  version: string;
  /** The version that was read; null: there was none. */
  seen: string | null;
  /** The item in the form that the statements take. */
  json: string;
}

/**
 * Two statements that take a JSON array of items as ?1 and return `name` and `version` of each item that is now as
 * requested, by this write or an earlier one of the same version. Thus a refusal is certain without a second round
 * trip.
 */
export interface VersionedStatements {
  /** Writes items whose `seen` is null. */
  insert: string;
  /** Writes items over the version in their field `seen`. */
  update: string;
}

/**
 * Writes the items in order.
 *
 * @throws before anything is written if an item is larger than D1 takes
 * @param values.bound further parameters of both statements, from ?2 on
 * @returns for each write, true if the item is now as requested
 */
export async function writeVersioned(
  database: D1Database,
  statements: VersionedStatements,
  { writes, bound = [] }: { writes: readonly VersionedWrite[]; bound?: readonly unknown[] },
): Promise<boolean[]> {
  const current = new Set<VersionedWrite>();
  const chunks = inChunks(writes);
  for (let start = 0; start < chunks.length; start += chunksMax) {
    const steps = chunks.slice(start, start + chunksMax).flatMap(stepsOf);
    countStatements(steps.length);
    const prepared = steps.map(({ kind, items }) =>
      database
        .prepare(statements[kind])
        .bind(`[${items.map(({ json }) => json).join()}]`, ...bound),
    );
    const results = await subrequest(
      () => database.batch<{ name: string; version: string }>(prepared),
      { isStatement: true },
    );
    for (const [index, { items }] of steps.entries()) {
      const returned = new Set(results[index]?.results.map(labelOf));
      for (const item of items) if (returned.has(labelOf(item))) current.add(item);
    }
  }
  return writes.map((one) => current.has(one));
}

/**
 * Splits writes, in order, into chunks that fit into one parameter. No chunk has a name twice: two writes of
 * one item are two writes, the second of which sees the first, and a statement returns one row for both.
 */
function inChunks(writes: readonly VersionedWrite[]): VersionedWrite[][] {
  const chunks: VersionedWrite[][] = [];
  let chunk: VersionedWrite[] = [];
  let names = new Set<string>();
  let bytes = 0;
  for (const one of writes) {
    const length = Buffer.byteLength(one.json);
    if (length > valueBytesMax) throw new Error(`D1 takes no row of ${length} bytes`);
    if (chunk.length === 0 || names.has(one.name) || bytes + length > parameterBytesMax) {
      chunk = [];
      chunks.push(chunk);
      names = new Set();
      bytes = 0;
    }
    chunk.push(one);
    names.add(one.name);
    bytes += length + 1;
  }
  return chunks;
}

function stepsOf(chunk: VersionedWrite[]) {
  const inserts = chunk.filter(({ seen }) => seen === null);
  const updates = chunk.filter(({ seen }) => seen !== null);
  return [
    { kind: "insert" as const, items: inserts },
    { kind: "update" as const, items: updates },
  ].filter(({ items }) => items.length > 0);
}

function labelOf({ name, version }: { name: string; version: string }): string {
  return `${version} ${name}`;
}
