import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";

const workflows = globSync(["docs/examples/*.yml", ".github/workflows/*.yml"]);

describe("the workflows", () => {
  it.each(workflows)(
    "run actions of one commit each, never of a tag that may move, in %s",
    async (path) => {
      const used = [...(await readFile(path, "utf8")).matchAll(/uses: (.+)$/gm)];
      expect(used.length).toBeGreaterThan(0);
      for (const [, action] of used)
        expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    },
  );

  it("are updated by Dependabot, as are the packages of every folder that has its own", async () => {
    const config = await readFile(".github/dependabot.yml", "utf8");
    const [, listed = ""] =
      /package-ecosystem: npm\n +directories:\s*\[([^\]]*)\]/.exec(config) ?? [];
    const folders = [...listed.matchAll(/"(.*?)"/g)].map(([, folder = ""]) => folder);
    const locks = globSync("**/package.json", {
      exclude: (path) => /node_modules|dist/.test(path),
    });
    const own = locks.map((path) => `/${path.replace(/\/?package\.json$/, "")}`);
    expect(folders.toSorted()).toEqual(own.toSorted());
    expect(config).toContain("package-ecosystem: github-actions");
  });
});
