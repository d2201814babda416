import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleForLambda } from "#infra/aws/bundle.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

let directory: string;
beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), "start-in-one-"))));
afterAll(() => rm(directory, { recursive: true }));

/** Modules of a function, by `~` and their names: two that come later share some with its start, and one with each other. */
const sources = {
  "count.ts": "let count = 0; export const next = () => ++count; export default 'count';",
  "word.ts": "export const next = 'a word'; export const order = ['word'];",
  "later.ts": "export const text = 'later';",
  "one.ts": `import name, { next } from ~count; import { text } from ~later;
    export const one = () => [name, next(), text];`,
  "other.ts": `import { next } from ~count; import { next as word, order } from ~word;
    import { text } from ~later; export const other = () => [next(), word, order, text];`,
  "entry.ts": `import { next } from ~count; import { order } from ~word;
    order.push("entry");
    export const handler = async () => [next(),
      (await import(~one)).one(), (await import(~other)).other(), next()];`,
};

it("evaluates one module at its start, whose state later ones share", inSlowTier, async () => {
  for (const [name, text] of Object.entries(sources)) {
    await writeFile(join(directory, name), text.replaceAll(/~(\w+)/g, `"./$1.ts"`));
  }
  const bundle = join(directory, "bundle");
  await bundleForLambda(join(directory, "entry.ts"), bundle);
  const files = await readdir(bundle);
  expect(files.filter((name) => !/^(one|other|chunk)-/.test(name))).toEqual(["index.mjs"]);
  expect(files).toHaveLength(4); // and what only the later ones share
  const { handler }: { handler: () => Promise<unknown> } = await import(
    pathToFileURL(join(bundle, "index.mjs")).href
  );
  expect(await handler()).toEqual([
    1,
    ["count", 2, "later"],
    [3, "a word", ["word", "entry"], "later"],
    4,
  ]);
});
