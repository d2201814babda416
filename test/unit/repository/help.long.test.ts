import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import packageJson from "#package.json" with { type: "json" };

/** Commands of this project, whose scripts run a file of it; others are those of a tool, with its own help. */
const commands = Object.entries(packageJson.scripts).flatMap(([name, script]) => {
  const [, words] = /(?:^|&& |exec )node ([\w/.-]+\.ts(?: --\w+)?)$/.exec(script) ?? [];
  return words === undefined ? [] : [{ name, words: words.split(" ") }];
});

describe("a command", () => {
  it("of the project is found by its script", () => {
    expect(commands.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "start",
        "deploy:aws",
        "destroy:cloudflare",
        "token",
        "calls",
        "rates",
      ]),
    );
  });

  it.each(commands)(
    "prints its usage and does nothing else: $name --help",
    async ({ name, words }) => {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [...words, "--help"]);
      expect(stderr).toBe("");
      expect(stdout).toMatch(name === "start" ? /npm start/ : new RegExp(`npm run ${name}\\b`));
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(130);
    },
  );
});
