import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../../functions/console");
/** A class by which scripts find a cell's time: it has no look. */
const isFound = new Set(["at"]);

it("has a rule of page.css for each class that the page's elements name", async () => {
  const css = readFileSync(`${root}/app/page.css`, "utf8");
  const all = await readdir(root, { recursive: true });
  const files = all.filter((file) => file.endsWith(".tsx"));
  const sources = await Promise.all(files.map((file) => readFile(`${root}/${file}`, "utf8")));
  const named = sources.flatMap((source) =>
    [...source.matchAll(/class="([^"]*)"/g)].flatMap(([, names = ""]) => names.split(" ")),
  );
  expect(named.length).toBeGreaterThan(100);
  const ruled = new Set([...css.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name]) => name));
  expect(named.filter((name) => !ruled.has(name) && !isFound.has(name))).toEqual([]);
});
