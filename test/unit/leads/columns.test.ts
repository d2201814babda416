import { describe, expect, it } from "vitest";
import { agentNamesOf } from "#shared/leads/agent-names.ts";
import { guessColumns } from "#shared/leads/columns.ts";
import { otherHeadings, phoneHeadings } from "#test/support/lead-headings.ts";

const numbers = ["202 555 0100", "(202) 555-0117", "+1 202 555 0143"];
const ids = ["2025550101", "2025550102", "2025550103"];

/** Guesses the columns of a table, given as a list of cells for each heading. */
function guess(table: Record<string, readonly string[]>, agents?: readonly string[]) {
  const lists = Object.values(table);
  const rows = (lists[0] ?? []).map((_, line) => ({
    line: line + 2,
    cells: lists.map((cells) => cells[line] ?? ""),
  }));
  const { roles, ...rest } = guessColumns({ columns: Object.keys(table), rows }, agents);
  const named = Object.keys(table).map((name, index) => [name, roles[index]]);
  return { roles: Object.fromEntries(named), ...rest };
}

describe("a heading", () => {
  it.each(phoneHeadings)("%s names phone numbers", (heading) => {
    const { roles, doubt } = guess({
      "Account no": ids,
      [heading]: numbers,
      Name: ["A", "B", "C"],
    });
    expect([roles[heading], doubt]).toEqual(["number", undefined]);
  });

  it.each(otherHeadings)("%s does not", (heading) => {
    const alone = guess({ [heading]: numbers });
    expect(alone.roles).toEqual({ [heading]: "context" });
    expect(alone.doubt?.candidates).toEqual([heading]);
    const beside = guess({ [heading]: numbers, Phone: numbers });
    expect(beside.roles).toEqual({ [heading]: "context", Phone: "number" });
  });

  it("lists are as long as they are meant to be, and name each heading once", () => {
    const all = [...phoneHeadings, ...otherHeadings].map(([heading]) => heading);
    expect(phoneHeadings.length).toBeGreaterThan(60);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("the column of phone numbers", () => {
  const who = ["Ada", "Bob", "Cy"];
  it.each<[string, Record<string, readonly string[]>, string[]]>([
    [
      "two columns that qualify",
      { "Home Phone": numbers, Mobile: numbers },
      ["Home Phone", "Mobile"],
    ],
    ["content alone", { Name: who, Reach: numbers }, ["Reach"]],
    ["content alone, twice", { id: ids, Reach: numbers }, ["id", "Reach"]],
    [
      "a name beside the content of another",
      { account_no: ids, Phone: ["ask", "-", "none"] },
      ["Phone", "account_no"],
    ],
    [
      "a name without cells beside the content of another",
      { account_no: ids, Phone: ["", "", ""] },
      ["Phone", "account_no"],
    ],
    [
      "ids under a phone word, beside another phone word",
      { "Call no": ids, Phone: ["", "", ""] },
      ["Call no", "Phone"],
    ],
    [
      "sequential numbers beside another phone word",
      { Phone: ids, Mobile: ["", "", ""] },
      ["Phone", "Mobile"],
    ],
    ["ids under a customer number", { "Customer number": ids, Name: who }, ["Customer number"]],
    [
      "a customer number beside a phone",
      { "Customer number": numbers, Phone: ["", "", ""] },
      ["Customer number", "Phone"],
    ],
    [
      "a title above the headings",
      { "Phone list": ["Phone", ...numbers], spring: ["Name", ...who] },
      ["Phone list"],
    ],
    ["two names without content", { Phone: who, Mobile: who }, ["Phone", "Mobile"]],
    ["a number without +", { number: numbers.map((one) => one.replace("+", "")) }, ["number"]],
  ])("is for a person to choose: %s", (_, table, candidates) => {
    const { roles, doubt } = guess(table);
    expect(doubt?.candidates).toEqual(candidates);
    expect(Object.values(roles)).not.toContain("number");
  });

  it.each<[string, Record<string, readonly string[]>, string]>([
    ["an empty second phone", { Phone: numbers, Mobile: ["", "", ""] }, "Phone"],
    [
      "a second phone of which few cells are numbers",
      { Phone: numbers, Mobile: ["no", "?", ids[0] ?? ""] },
      "Phone",
    ],
    ["sequential contact numbers", { contact_number: ids, Name: who }, "contact_number"],
    ["sequential numbers of the only phone", { Phone: ids, Name: who }, "Phone"],
    ["numbers in E.164 under number", { number: ids.map((id) => `+1${id}`), name: who }, "number"],
    [
      "Telephone 1 beside a record's number",
      { Number: ids, "Telephone 1": numbers },
      "Telephone 1",
    ],
    ["a phone of which nothing can be dialed", { Phone: ["12", "ask", ""], Name: who }, "Phone"],
    [
      "the API's number beside a phone in its context",
      { phone_number: numbers, "context.phone": numbers },
      "phone_number",
    ],
  ])("is found: %s", (_, table, column) => {
    const { roles, doubt } = guess(table);
    expect([roles[column], doubt]).toEqual(["number", undefined]);
  });
});

it("has its second phone found far below empty cells", () => {
  const late = [...Array.from({ length: 300 }, () => ""), "303 555 0100"];
  const { doubt } = guess({ Phone: late.map(() => "202 555 0100"), Mobile: late });
  expect(doubt?.candidates).toEqual(["Phone", "Mobile"]);
});

describe("the column of agents", () => {
  const plan = ["sales", "support"];
  const table = (heading: string, ...cells: string[]) => ({ Phone: numbers, [heading]: cells });
  it.each<[string, string, string[], readonly string[] | undefined, string]>([
    ["agents of the plan", "Agent", ["sales", "", "support"], plan, "agent"],
    [
      "an agent of the plan, and others, whose rows are refused",
      "agent",
      ["sales", "gone"],
      plan,
      "agent",
    ],
    ["estate agents", "Agent", ["Jane Doe", "John Roe", ""], plan, "context"],
    ["a CRM's ids of agents", "agent_id", ["1001", "1002", ""], plan, "context"],
    ["nobody", "Agent", ["", "", ""], plan, "context"],
    [
      "agent_id, where any agent is in the plan",
      "agent_id",
      ["x", "y", ""],
      ["sales", "*"],
      "agent",
    ],
    [
      "Agent, where any agent is in the plan",
      "Agent",
      ["x", "sales", ""],
      ["sales", "*"],
      "context",
    ],
    ["agent_id, where the plan is not known", "Agent ID", ["x", "y", ""], undefined, "agent"],
    ["Agent, where the plan is not known", "Agent", ["sales", "", ""], undefined, "context"],
  ])("has %s", (_, heading, cells, agents, role) => {
    const { roles, notes } = guess(table(heading, ...cells), agents);
    expect(roles[heading]).toBe(role);
    // A person is told, unless the column has nothing.
    expect(notes.length).toBe(cells.some((cell) => cell !== "") ? 1 : 0);
    expect(notes.every((note) => note.startsWith(heading))).toBe(true);
  });

  it("is the one of two that has agents of the plan", () => {
    const both = { Phone: numbers, agent_id: ["1001", "1002", ""], Agent: ["sales", "", ""] };
    const { roles, notes } = guess(both, plan);
    expect(roles).toEqual({ Phone: "number", agent_id: "context", Agent: "agent" });
    expect(notes).toEqual([
      "agent_id is context: it names no agent of the dial plan.",
      "Agent names the agent of each row.",
    ]);
  });
});

it("agents of a plan are those that calls may name: also its splits", () => {
  const agents = [{ agent_id: "agent_a" }, { agent_id: "*" }];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names are all that is read
  const plan = { agents, splits: ["agent_sales"] } as Parameters<typeof agentNamesOf>[0];
  expect(agentNamesOf(plan)).toEqual(["agent_a", "*", "agent_sales"]);
});
