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

/** Returns the red, green and blue of a colour such as `#4f8fd0`, each of 0 to 255. */
const partsOf = (colour: string) =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Returns the relative luminance of a colour, by WCAG 2.2. */
function lightOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = partsOf(colour).map((part) =>
    part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

it("has a colour of its own for each meaning, which stands out from a dark card", () => {
  const css = readFileSync(`${root}/app/page.css`, "utf8");
  const rules = [...css.matchAll(/([^{}]+)\{\s*--of: (?:light-dark\(.*, )?(#\w{6})\)?;/g)];
  const meanings = rules.map(([, classes = "", colour = ""]) => ({ classes, colour }));
  expect(meanings.length).toBeGreaterThan(15);
  const distance = (one: string, other: string) => {
    const theirs = partsOf(other);
    return Math.hypot(...partsOf(one).map((part, index) => part - (theirs[index] ?? 0)));
  };
  const alike = meanings.flatMap((one, index) =>
    meanings.slice(index + 1).filter(({ colour }) => distance(one.colour, colour) < 40),
  );
  expect(alike).toEqual([]);
  const [, card = ""] = /--card: light-dark\(#\w+, (#\w+)\)/.exec(css) ?? [];
  const faint = meanings.filter(
    ({ colour }) => (lightOf(colour) + 0.05) / (lightOf(card) + 0.05) < 3,
  );
  expect(faint).toEqual([]);
});
