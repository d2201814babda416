import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cacheWhileUnchanged } from "#infra/local/cache-while-unchanged.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

let root: string;
let made = 0;
const write = (name: string, text: string) => writeFile(join(root, name), text);
const get = (meanwhile?: () => Promise<void>) =>
  cacheWhileUnchanged(
    {
      root,
      inputs: ["src/**/*.*", "*.toml"],
      made: ["src/made"],
      cached: join(root, "cached/result.json"),
    },
    async () => {
      await meanwhile?.();
      return { n: ++made };
    },
  );
beforeEach(async () => {
  made = 0;
  root = await mkdtemp(join(tmpdir(), "outbound-calls-cached-"));
  await mkdir(join(root, "src/deep/node_modules"), { recursive: true });
  await write("src/deep/a.ts", "1");
  await write("b.toml", "2");
});
afterEach(() => rm(root, { recursive: true }));

it("a cached result is made once, whatever happens to other files", async () => {
  expect(await get()).toEqual({ n: 1 });
  await write("src/deep/node_modules/c.ts", "3");
  await write("other.ts", "4");
  expect(await get()).toEqual({ n: 1 });
});

it.each([
  ["has changed", () => write("src/deep/a.ts", "2")],
  ["came", () => write("src/c.ts", "")],
  ["has gone", () => rm(join(root, "b.toml"))],
  ["has another name", () => write("c.toml", "2").then(() => rm(join(root, "b.toml")))],
])("a cached result is made again where a file %s", inSlowTier, async (_, change) => {
  await get();
  await change();
  expect(await get()).toEqual({ n: 2 });
  expect(await get()).toEqual({ n: 2 });
});

it("a cached result is made again where its folder was moved, as it may name the folder", async () => {
  await get();
  const moved = `${root}-moved`;
  await rename(root, moved);
  root = moved;
  expect(await get()).toEqual({ n: 2 });
  expect(await get()).toEqual({ n: 2 });
});

it("a result is not cached where a file changed while it was made, or where it is cut off", async () => {
  expect(await get(() => write("b.toml", "3"))).toEqual({ n: 1 });
  expect(await get()).toEqual({ n: 2 });
  await write("cached/result.json", '{"hash":');
  expect(await get()).toEqual({ n: 3 });
});

it(
  "a result is cached though making it wrote files, and made again where one of those has changed or gone",
  inSlowTier,
  async () => {
    await mkdir(join(root, "src/made"));
    expect(await get(() => write("src/made/page.html", "1"))).toEqual({ n: 1 });
    expect(await get()).toEqual({ n: 1 });
    await write("src/made/page.html", "another");
    expect(await get()).toEqual({ n: 2 });
    await rm(join(root, "src/made"), { recursive: true });
    expect(await get()).toEqual({ n: 3 });
  },
);

it("a cached result is whole for several that make it at once", async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => get()));
  expect(new Set(all.map(({ n }) => n)).size).toBe(8);
  expect(await get()).toHaveProperty("n");
  expect(made).toBe(8);
});
