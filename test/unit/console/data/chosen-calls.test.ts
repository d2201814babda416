import { describe, expect, it } from "vitest";
import { chosenBy, findWholeOrder } from "#functions/console/data/chosen-calls.ts";
import { filterShape } from "#functions/operator/calls.ts";

const every = Object.fromEntries(Object.keys(filterShape).map((name) => [name, `its ${name}`]));

describe("the calls that a list shows", () => {
  it("are chosen by every field of the filter, also by one that the page does not know", () => {
    const filter = { ...every, later: "x" };
    expect(chosenBy({ ...filter, empty: "" }).fields).toEqual(filter);
  });

  it("are told by every field, in people's words", () => {
    const { what } = chosenBy(every);
    for (const value of Object.values(every)) expect(what).toContain(value);
    expect(what).not.toContain("_id its");
  });
});

describe("an order that cancels all of them", () => {
  const waiting = { state: "WAITING" };

  it("is there for all waiting calls of a request, or of an agent", () => {
    expect(findWholeOrder({ ...waiting, request_id: "r", client: "" }, "")).toEqual({
      request_id: "r",
    });
    expect(findWholeOrder({ ...waiting, agent_id: "a" }, "")).toEqual({ agent_id: "a" });
  });

  it.each(Object.keys(every).filter((name) => !["state", "agent_id"].includes(name)))(
    "is not there for those of an agent with another %s",
    (name) => {
      const filter = { ...waiting, agent_id: "a", [name]: "x" };
      expect(findWholeOrder(filter, "")).toBeUndefined();
    },
  );

  it("is not there for one number, for calls in another state, or of a client", () => {
    expect(findWholeOrder({ ...waiting, agent_id: "a" }, "+12025550123")).toBeUndefined();
    expect(findWholeOrder({ state: "UNKNOWN", agent_id: "a" }, "")).toBeUndefined();
    expect(findWholeOrder({ agent_id: "a" }, "")).toBeUndefined();
    expect(findWholeOrder({ ...waiting, client: "crm" }, "")).toBeUndefined();
    expect(findWholeOrder(waiting, "")).toBeUndefined();
  });
});
