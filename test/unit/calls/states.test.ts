import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { attentionStates, callStates, states, statesWhere } from "#shared/calls/states.ts";
import { settlementSchema } from "#shared/calls/transitions.ts";

describe("the table of states", () => {
  it("names the states that D1 has an index of", async () => {
    const files = (await readdir("infra/d1")).toSorted();
    const sql = await Promise.all(files.map((file) => readFile(join("infra/d1", file), "utf8")));
    const indexes = /CREATE INDEX calls_attention [^;]*?WHERE state IN \(([^)]*)\)/g;
    // A later migration makes the index anew.
    const [, listed = ""] = [...sql.join("\n").matchAll(indexes)].at(-1) ?? [];
    expect(listed.split(", ")).toEqual(attentionStates.map((state) => `'${state}'`));
  });

  it("names the states to which a claim may settle a call", () => {
    const settled = new Set(callStates.flatMap((state) => states[state].settlesTo)).add("PLACED");
    expect(new Set(settlementSchema.shape.state.options)).toEqual(settled);
  });

  it("knows in which states a phone may have rung", () => {
    expect(Object.groupBy(callStates, (state) => states[state].placed)).toEqual({
      no: ["WAITING", "REJECTED", "EXPIRED"],
      now: ["DIALING"],
      perhaps: ["UNKNOWN", "NEEDS_REVIEW", "CANCELLED", "REDIALED"],
      yes: ["PLACED"],
    });
  });

  it("has operators look after each state that no purge may pass over", () => {
    // DynamoDB deletes rows of other states by itself, and tells nobody.
    expect(attentionStates).toEqual(
      expect.arrayContaining(statesWhere(({ purge }) => purge === "alarm")),
    );
    expect(statesWhere(({ attention, purge }) => attention && purge === "never")).toEqual([]);
  });

  it("gives every open state a lane", () => {
    expect(statesWhere(({ open, lane }) => open && lane === null)).toEqual([]);
  });

  it("allows no redial in a state that erases the number", () => {
    const redialed = statesWhere(({ actions }) => actions.includes("redial"));
    expect(redialed.filter((state) => states[state].erasesPayload)).toEqual([]);
  });
});
