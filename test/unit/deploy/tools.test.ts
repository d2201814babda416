import { afterEach, expect, it, vi } from "vitest";
import { processTools } from "#infra/cli/deploy/tools.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

afterEach(() => void vi.restoreAllMocks());

const script = `
console.log("first");
process.stdin.once("data", (text) => { console.error(String(text)); process.exit(3); });`;

it(
  "runs a command, and prints its output as it comes only where it is to be shown",
  inSlowTier,
  async () => {
    for (const isShown of [true, false]) {
      const shown: string[] = [];
      const note = (line: unknown) => void shown.push(String(line));
      vi.spyOn(console, "log").mockImplementation(note);
      vi.spyOn(console, "error").mockImplementation(note);
      const ran = await processTools.run("node", ["-e", script], { input: "typed", isShown });
      vi.restoreAllMocks();
      expect(ran).toEqual({ code: 3, stdout: "first\n", stderr: "typed\n" });
      expect(shown).toEqual(isShown ? ["first", "typed"] : []);
    }
  },
);

it("asks nobody where nobody is there", async () => {
  expect(process.stdin.isTTY).toBeFalsy();
  expect(await processTools.ask("Who?")).toBeUndefined();
  expect(await processTools.askSecret("What?")).toBeUndefined();
});
