import { glob, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { callBackRefusals } from "#shared/calls/tries.ts";
import { texts } from "#shared/rules/gates.ts";
import { findMeaning, listMeanings, sayReason } from "#shared/rules/texts.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const reasons = listMeanings();

/** A reason in the log's line of a purge, which no row has. */
const logged = new Set(["retention"]);

describe("the meaning of a reason", () => {
  it("is one sentence for each, in the order of their names", () => {
    for (const sentence of Object.values(reasons)) expect(sentence).toMatch(/^[A-Z][^.]*\.$/);
    expect(Object.keys(reasons)).toEqual(Object.keys(reasons).toSorted());
  });

  it("is told by each rule that has one", async () => {
    const told = new Set(texts.flatMap((some) => Object.keys(some)));
    const missing: string[] = [];
    for await (const path of glob("shared/rules/*.ts")) {
      const rule: object = await import(resolve(path));
      const own: unknown = Reflect.get(rule, "texts");
      if (typeof own !== "object" || own === null || Array.isArray(own)) continue;
      missing.push(...Object.keys(own).filter((reason) => !told.has(reason)));
    }
    expect(told.size).toBeGreaterThan(15);
    expect(missing).toEqual([]);
  });

  it("is told for each that the code gives", inSlowTier, async () => {
    const given = new Set<string>();
    for await (const path of glob("{shared,functions/dialer}/**/*.ts")) {
      const text = await readFile(path, "utf8");
      for (const [, reason = ""] of text.matchAll(/\breason: "(\w+)"/g)) given.add(reason);
    }
    // Why a wish is not granted is no reason of a state.
    for (const refusal of callBackRefusals) given.delete(refusal);
    expect(given.size).toBeGreaterThan(15);
    const unknown = [...given].filter((reason) => findMeaning(reason) === undefined);
    expect(new Set(unknown)).toEqual(logged);
  });

  it("is found for a rule's hours, and not for a provider's code", () => {
    expect(findMeaning("hours:countries.FR")).toBe(reasons["hours"]);
    expect(findMeaning("do_not_call")).toBe(reasons["do_not_call"]);
    expect(findMeaning("http_429")).toBeUndefined();
    expect(findMeaning("constructor")).toBeUndefined();
  });

  it("is said of a code that only its provider explains, with the provider and the number", () => {
    expect(sayReason("twilio_21211")).toBe("The provider twilio answered with its own code 21211.");
    expect(sayReason("http_503")).toMatch(/^The provider failed with the status 503/);
    expect(sayReason("paused:agent agent_sales")).toBe("Paused: agent agent_sales.");
    expect(sayReason("the caller hung up")).toBe("the caller hung up");
  });
});
