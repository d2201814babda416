import { glob, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { operatorRoutes } from "#functions/operator/routes.ts";

it("asks every route that operators have", async () => {
  const texts: string[] = [];
  for await (const path of glob(["functions/console/**/*.{ts,tsx}", "shared/leads/*.ts"]))
    texts.push(await readFile(path, "utf8"));
  const page = texts.join("\n");
  expect(operatorRoutes.length).toBeGreaterThan(40);
  // A path's ids are values in the page: what stands around them is written there.
  const isAsked = ({ path }: { path: string }) =>
    path.split(/\/:\w+/).every((part) => new RegExp(`["'\`} ]${part}(?![\\w-])`).test(page));
  const missing = operatorRoutes.filter((route) => !isAsked(route));
  expect(missing.map(({ operationId }) => operationId)).toEqual([]);
});
