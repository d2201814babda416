import { glob } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import * as gates from "#shared/rules/gates.ts";

const folder = resolve(import.meta.dirname, "../../../shared/rules");
/** Files of the folder that are no rule. */
const others = new Set(["rule.ts", "gates.ts", "resolved-call.ts", "first-row.ts", "texts.ts"]);
/** The questions that rules answer, each asked by a list of gates.ts. */
const questions = new Set([
  "keys",
  "clientKeys",
  "admit",
  "inDelivery",
  "probeTime",
  "beforeClaim",
  "take",
  "stay",
  "room",
  "backlogRoom",
  "restsUntil",
  "unreadAlong",
  "isHanging",
  "isTroubled",
  "isAccountTroubled",
  "permits",
  "stops",
  "texts",
  "holders",
  "simulate",
]);
/** A judge that a list makes from others. */
const made = new Set(["lost-by-restore.ts admit"]);

describe("a rule", () => {
  it("is asked by a list of gates.ts whatever it answers", async () => {
    const asked = new Set<unknown>(Object.values(gates).flat());
    const unasked: string[] = [];
    let rules = 0;
    for await (const path of glob("*.ts", { cwd: folder })) {
      if (others.has(basename(path))) continue;
      rules += 1;
      const rule: Record<string, unknown> = await import(resolve(folder, path));
      for (const [name, answer] of Object.entries(rule)) {
        const question = `${path} ${name}`;
        if (questions.has(name) && !asked.has(answer) && !made.has(question))
          unasked.push(question);
      }
    }
    expect(unasked).toEqual([]);
    expect(rules).toBeGreaterThanOrEqual(23);
  });
});
