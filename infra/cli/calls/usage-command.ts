import type { Splits, UsageAnswer } from "#shared/answers/answers.ts";
import { saySplit } from "#shared/answers/split-words.ts";
import type { Command } from "./command.ts";
import type { Json } from "./json.ts";
import { show } from "./terminal.ts";

/** Columns that name a row, by what it is grouped by. Labels, such as a campaign, are of a client. */
const columnsOf: Record<string, string[]> = {
  client: ["client"],
  day: ["day"],
  agent: ["agent_id"],
};

const splitColumns = [
  "split",
  "agent_id",
  "weight",
  "ended",
  "answered",
  "completed",
  "completed_share",
  "missing",
];

/** Commands for what clients have used, and the outcome of the calls to splits. */
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
    show(rows, [...(columnsOf[by] ?? ["client", by]), ...sums], { values, terminal });
    if (answer.rows_left_out > 0)
      terminal.complain(`${answer.rows_left_out} rows are left out: ask for fewer days.`);
    if (Date.parse(answer.read_from) > Date.parse(answer.from))
      terminal.complain(`There is too much to read: this is from ${answer.read_from} on.`);
    return 0;
  },

  async splits(_rest, values, { ask, terminal }) {
    const { splits } = await ask<Splits>("/splits");
    if (values.json === true) {
      for (const split of splits) terminal.print(JSON.stringify(split));
      return 0;
    }
    const rows = splits.flatMap(({ agent_id: split, arms }) =>
      arms.map((arm): Json => ({ split, ...arm })),
    );
    show(rows, splitColumns, { values, terminal });
    for (const split of splits)
      for (const sentence of saySplit(split)) terminal.complain(`${split.agent_id}: ${sentence}`);
    return 0;
  },
};
