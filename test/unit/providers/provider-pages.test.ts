import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod/v4/core";
import { real } from "#shared/lib/later-schemas.ts";
import { providerTypes as knownNames } from "#shared/calls/provider-types.ts";
import { providerTypes } from "#shared/providers/list.ts";
import { ambiguousWords } from "#test/support/provider-answers/ambiguous-words.ts";
import { answersOfProviders } from "#test/support/provider-answers/index.ts";
import { providerNotes } from "#test/support/provider-answers/notes.ts";
import { classes, makeProviderPages } from "#test/support/provider-pages.ts";
import { setupPlan } from "#test/support/provider-setup.ts";
import { resultsOfProviders } from "#test/support/provider-results/index.ts";

const directory = "docs/providers";
const pages = makeProviderPages();

it("knows the name of each provider below the providers", () => {
  expect(knownNames).toEqual(providerTypes.map(({ name }) => name));
});

describe("the pages of providers", () => {
  it("are those that `npm run pages` makes", async () => {
    expect((await readdir(directory)).toSorted()).toEqual([...pages.keys()].toSorted());
    for (const [name, text] of pages) {
      expect(await readFile(join(directory, name), "utf8")).toBe(text);
    }
  });

  it("are short, and linked from docs/providers.md, which says what each class does", async () => {
    const text = await readFile("docs/providers.md", "utf8");
    for (const [name, page] of pages) {
      expect(page.split(/\s+/).length).toBeLessThan(550);
      expect(text).toContain(`(providers/${name})`);
    }
    const told = [...text.matchAll(/^- \*\*(PLACED|the \w+|later|a person|unknown)\*\*/gm)];
    expect(told.map(([, name = ""]) => name).toSorted()).toEqual(Object.values(classes).toSorted());
  });

  it.each(providerTypes.filter(({ name }) => pages.has(`${name}.md`)))(
    "name every field of a route of $name",
    ({ name, routeSchema }) => {
      const { properties = {} } = z.toJSONSchema(real(routeSchema), {
        io: "input",
        unrepresentable: "any",
      });
      const common = new Set(["account", "callingHours", "checks", "provider", "baseUrl"]);
      const fields = Object.keys(properties).filter((field) => !common.has(field));
      expect(fields.filter((field) => !pages.get(`${name}.md`)?.includes(`\`${field}\``))).toEqual(
        [],
      );
    },
  );

  it("name the file that lacks a new provider's setup", () => {
    expect(() => setupPlan("acme")).toThrow(
      "acme has no entry in providerSetups of test/support/provider-setup.ts",
    );
  });

  it("have notes and words only of providers that exist", () => {
    const names = Object.keys(answersOfProviders);
    expect(Object.keys(providerNotes).toSorted()).toEqual(names.toSorted());
    for (const { providers } of ambiguousWords)
      expect(names).toEqual(expect.arrayContaining(providers));
  });

  it("describe no two answers or records of a provider alike", () => {
    const twice = (texts: string[]) => texts.filter((text, at) => texts.indexOf(text) !== at);
    for (const { answers, lookUps } of Object.values(answersOfProviders)) {
      expect(twice(answers.map(({ status, says, page }) => `${status} ${says ?? page}`))).toEqual(
        [],
      );
      expect(twice(lookUps.map(({ says, page }) => says ?? page))).toEqual([]);
    }
    for (const results of Object.values(resultsOfProviders)) {
      expect(twice(results.map(({ says }) => says))).toEqual([]);
    }
  });
});
