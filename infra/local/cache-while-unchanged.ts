import { createHash, randomUUID } from "node:crypto";
import { glob, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

interface Sources {
  root: string;
  /** Patterns of the files, below the root and outside of node_modules, that a result is made of. */
  inputs: readonly string[];
  /** Patterns of those among them that are written as the result is made. */
  made: readonly string[];
  /** The file that keeps the last result. */
  cached: string;
}

/**
 * Returns the last result while no file that it was made of has changed, come or gone, and the folder was not moved; otherwise
 * makes it again. Results are cached as JSON. Several processes may do so at once.
 */
export async function cacheWhileUnchanged<Result>(
  sources: Sources,
  make: () => Promise<Result>,
): Promise<Result> {
  const hashAll = () => hashInputs({ ...sources, made: [] });
  const last: { hash: string; result: Result } | undefined = await readCached(sources.cached);
  if (last !== undefined && last.hash === (await hashAll())) return last.result;
  const before = await hashInputs(sources);
  const result = await make();
  // Where a file was changed meanwhile, nobody knows of which of its states the result is.
  if ((await hashInputs(sources)) === before) {
    const next = { hash: await hashAll(), result };
    await store(sources.cached, next).catch(() => undefined); // a folder without write access only costs time
  }
  return result;
}

/** Returns a hash of the folder's path, which results name, and of the inputs but those that are made. */
async function hashInputs({ root, inputs, made }: Sources): Promise<string> {
  const paths: string[] = [];
  const found = glob(inputs, { cwd: root, exclude: ["**/node_modules", ...made] });
  for await (const path of found) paths.push(path);
  const files = paths.toSorted().map(async (path) => [path, await readFile(join(root, path))]);
  const hash = createHash("sha256").update(`${root}:`);
  for (const part of (await Promise.all(files)).flat()) hash.update(`${part.length}:`).update(part);
  return hash.digest("hex");
}

/** The type is that of who keeps it, as the hash covers the code that made it. */
async function readCached(path: string) {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined; // there is none yet
  }
}

/** Renames a finished file into place: a process that reads at the same time finds the former one or this one. */
async function store(path: string, content: object): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(content));
  await rename(draft, path);
}
