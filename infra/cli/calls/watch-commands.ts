import type { Command } from "./command.ts";
import { Failure, Misuse, Refusal } from "./failures.ts";
import type { Json } from "./json.ts";
import { listCampaigns, listNamed, listRequests } from "./lists.ts";
import { show, showFacts } from "./terminal.ts";

/** Interval between looks, in milliseconds, and the longest while the service fails. */
const lookEveryMs = 5_000;
const failingMsMax = 60_000;

/** Commands that list requests and campaigns, and that show them again and again. */
export const watchCommands: Record<string, Command> = {
  async requests(_rest, values, { ask, terminal }) {
    const list = await listRequests(values, ask);
    show(values.json === true ? list.items : list.rows, list.columns, { values, terminal });
    return 0;
  },

  async campaigns([name], values, { ask, terminal }) {
    if (name === undefined) {
      const list = await listCampaigns(values, ask);
      show(list.rows, list.columns, { values, terminal });
      return 0;
    }
    if (values.client === undefined) throw new Misuse("campaigns NAME needs --client.");
    const query = new URLSearchParams({ name, client: values.client });
    const campaign = await ask<Json>(`/campaign?${query.toString()}`);
    if (values.json === true) terminal.print(JSON.stringify(campaign));
    else showFacts(flattened(campaign), terminal);
    return 0;
  },

  /** Shows a list until the process is ended. Failures of the service are shown, and it continues. */
  async watch([name = "requests"], values, { ask, terminal }) {
    const changes = changesOf();
    let failures = 0;
    for (;;) {
      try {
        const list = await listNamed(name, values, ask);
        failures = 0;
        if (terminal.clear === undefined || values.json === true) {
          for (const item of changes(list.items)) terminal.print(JSON.stringify(item));
        } else {
          terminal.clear();
          terminal.print(`${name} at ${new Date().toISOString()}; Ctrl-C ends.`);
          show(list.rows, list.columns, { values, terminal });
        }
      } catch (error) {
        if (!(error instanceof Failure) || error instanceof Refusal) throw error;
        failures += 1;
        terminal.complain(error.message);
      }
      await terminal.sleep(Math.min(lookEveryMs * 2 ** failures, failingMsMax));
    }
  },
};

/** Returns the fields of an object and of the objects in it, which are named `results.placed`. */
function flattened(object: object, prefix = ""): Json {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]: [string, unknown]): [string, unknown][] =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.entries(flattened(value, `${prefix}${name}.`))
        : [[`${prefix}${name}`, value]],
    ),
  );
}

/** Returns a function that returns the items that are new, have changed, or are gone (`gone`) since its last call. */
function changesOf(): (items: readonly Json[]) => Json[] {
  let before = new Map<unknown, string>();
  return (items) => {
    const now = new Map(items.map((item) => [item["id"], JSON.stringify(item)] as const));
    const changed = items.filter((item) => before.get(item["id"]) !== now.get(item["id"]));
    const gone = [...before.keys()].filter((id) => !now.has(id)).map((id) => ({ id, gone: true }));
    before = now;
    return [...changed, ...gone];
  };
}
