import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";

it("is quoted in docs/performance.md as npm run bench wrote it", async () => {
  const page = await readFile("docs/performance.md", "utf8");
  const results = await readFile("test/bench/results.md", "utf8");
  const quoted = /<!-- bench -->\n([^]*?)<!-- \/bench -->/.exec(page)?.[1];
  const written = /## Targets\n([^]*?)\n## /.exec(results)?.[1];
  expect(quoted).toContain("| ");
  expect(quoted?.trim()).toBe(written?.trim());
});
