import type { UsageAnswer } from "#shared/answers/answers.ts";
import type { Command } from "./command.ts";
import type { Json } from "./json.ts";
import { show } from "./terminal.ts";

/** Columns that name a row, by what it is grouped by. */
const columnsOf: Record<string, string[]> = {
  client: ["client"],
  day: ["day"],
  agent: ["agent_id"],
  campaign: ["client", "campaign"],
};

/** The command for what clients have used. */
export const usageCommands: Record<string, Command> = {
  async usage(_rest, values, { ask, terminal }) {
    const { from, until: to, by = "client", client } = values;
    const query = new URLSearchParams({
      group_by: by,
      ...(from && { from }),
      ...(to && { to }),
      ...(client && { client }),
    });
    const answer = await ask<UsageAnswer>(`/usage?${query.toString()}`);
    const currencies = [
      ...new Set(answer.rows.flatMap(({ cost }) => cost.map(({ currency }) => currency))),
    ].toSorted();
    const rows = answer.rows.map(({ cost, ...row }): Json => {
      const costs = cost.map(({ currency, amount }) => [`cost_${currency}`, amount] as const);
      return { ...row, ...Object.fromEntries(costs) };
    });
    const costs = currencies.map((currency) => `cost_${currency}`);
    const sums = ["test", "accepted", "placed", "answered", "seconds", ...costs];
    show(rows, [...(columnsOf[by] ?? []), ...sums], { values, terminal });
    if (answer.rows_left_out > 0)
      terminal.complain(`${answer.rows_left_out} rows are left out: ask for fewer days.`);
    if (!answer.read_from.startsWith(answer.from))
      terminal.complain(`There is too much to read: this is from ${answer.read_from} on.`);
    return 0;
  },
};
