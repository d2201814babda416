import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { helpOf, helps } from "#infra/cli/calls/help-texts.ts";
import { callStates } from "#shared/calls/states.ts";

/** Periods in days take a date, and others a time. */
const several: Readonly<Record<string, string[]>> = {
  from: ["DATE", "TIME"],
  until: ["DATE", "TIME"],
};
/** An option with the placeholder of its value. Two letters are an example of a country. */
const usage = /--([a-z][a-z-]*) ([A-Z]{3,}|[A-Z])(?![\w=])/g;

it("names an option's value by the same word in all usage texts and documents", () => {
  const words = new Map<string, Set<string>>();
  const files = globSync(["infra/cli/**/*.ts", "docs/*.md", "README.md"]);
  const texts = files.map((file) => readFileSync(file, "utf8"));
  for (const text of [...texts, ...Object.keys(helps).map(helpOf)]) {
    for (const [, option = "", word = ""] of text.matchAll(usage)) {
      if (callStates.some((state) => state.startsWith(word)) && option === "state") continue;
      words.set(option, (words.get(option) ?? new Set()).add(word));
    }
  }
  expect(words.get("account")).toEqual(new Set(["ACCOUNT"]));
  const mixed = [...words].filter(([option, found]) =>
    several[option] === undefined
      ? found.size > 1
      : [...found].some((word) => !several[option]?.includes(word)),
  );
  expect(mixed).toEqual([]);
});
