import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";

it("is quoted in the README as npm run bench wrote it", async () => {
  const readme = await readFile("README.md", "utf8");
  const results = await readFile("test/bench/results.md", "utf8");
  const quoted = /<!-- bench -->\n([^]*?)<!-- \/bench -->/.exec(readme)?.[1];
  const written = /## Targets\n([^]*?)\n## /.exec(results)?.[1];
  expect(quoted).toContain("| ");
  expect(quoted?.trim()).toBe(written?.trim());
});
