/**
 * Most bytes of JSON in one bound parameter. D1 takes 100 parameters a statement and 2 MB a value, so items travel as
 * JSON arrays, several statements of one transaction where they are large.
 */
const parameterBytesMax = 400_000;
/** Most chunks of one transaction: 4 MB of parameters. */
const chunksMax = 10;

/** One write of an item on condition of its version. */
export interface VersionedWrite {
  /** The name that both statements return for this item. */
  name: string;
  version: string;
  /** The version that was read; null: there was none. */
  seen: string | null;
  /** The item as the statements take it. */
  json: string;
}

/**
 * Both take a JSON array of items as ?1, and return `name` and `version` of what stands as it was to be written, by
 * this write or by an earlier one of the same version. A refusal therefore needs no second round trip to be certain.
 */
export interface VersionedStatements {
  /** Writes items whose `seen` is null. */
  insert: string;
  /** Writes items over the version in their field `seen`. */
  update: string;
}

/**
 * Writes the items in their order.
 *
 * @param bound further parameters of both statements, from ?2 on
 * @returns for each write, whether the item stands as it has it
 */
export async function writeVersioned(
  database: D1Database,
  statements: VersionedStatements,
  writes: readonly VersionedWrite[],
  bound: readonly unknown[] = [],
): Promise<boolean[]> {
  const standing = new Set<VersionedWrite>();
  const chunks = inChunks(writes);
  for (let start = 0; start < chunks.length; start += chunksMax) {
    const steps = chunks.slice(start, start + chunksMax).flatMap(stepsOf);
    const results = await database.batch<{ name: string; version: string }>(
      steps.map(({ kind, items }) =>
        database.prepare(statements[kind]).bind(`[${items.map(jsonOf).join()}]`, ...bound),
      ),
    );
    for (const [index, { items }] of steps.entries()) {
      const returned = new Set(results[index]?.results.map(labelOf));
      for (const item of items) if (returned.has(labelOf(item))) standing.add(item);
    }
  }
  return writes.map((one) => standing.has(one));
}

/**
 * Writes in their order, each chunk small enough for one parameter. No chunk has a name twice: two writes of one item
 * are two writes, the second of which sees the first, and a statement returns one row for both.
 */
function inChunks(writes: readonly VersionedWrite[]): VersionedWrite[][] {
  const chunks: VersionedWrite[][] = [];
  let chunk: VersionedWrite[] = [];
  let names = new Set<string>();
  let bytes = 0;
  for (const one of writes) {
    const length = Buffer.byteLength(one.json);
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

function jsonOf({ json }: VersionedWrite): string {
  return json;
}

function labelOf({ name, version }: { name: string; version: string }): string {
  return `${version} ${name}`;
}
