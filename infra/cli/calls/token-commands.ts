import type {
  ClientReceiversAnswer,
  Clients,
  MadeTokenAnswer,
  PutClient,
  Tokens,
  TokenView,
} from "#shared/answers/answers.ts";
import { clientInPath } from "#shared/calls/client-path.ts";
import { exitUnlessAgreed } from "./agree.ts";
import type { Command } from "./command.ts";
import { Misuse } from "./failures.ts";
import { numberOf } from "./options.ts";
import { say, show } from "./terminal.ts";

/** Items of one page. */
const pageItems = 200;
const clientColumns = ["name", "agents", "calls_per_day", "waiting", "changed_by", "changed_at"];
const receiverColumns = ["name", "url", "types", "echo", "created_at", "rotated_at"];
const tokenColumns = [
  "id",
  "client",
  "state",
  "rights",
  "mode",
  "agents",
  "last_used_at",
  "not_after",
];

const clientVerbs: Record<string, Command> = {
  async list(_words, values, { ask, terminal }) {
    const clients = await readAll(async (cursor) => {
      const page = await ask<Clients>(`/clients?${pageQuery({ cursor })}`);
      return { items: page.clients, cursor: page.cursor };
    });
    const rows = clients.map(({ agents, quota, ...client }) => ({
      ...client,
      agents: agents.join(", "),
      ...quota,
    }));
    show(values.json === true ? clients : rows, clientColumns, { values, terminal });
    return 0;
  },

  async put([name], values, { ask, terminal }) {
    const { agents = "*", waiting, "calls-per-day": callsPerDay } = values;
    const path = pathOf(name, "clients put needs a name.");
    const quota = {
      ...(callsPerDay && { calls_per_day: numberOf(callsPerDay, "--calls-per-day") }),
      ...(waiting && { waiting: numberOf(waiting, "--waiting") }),
    };
    const body = {
      agents: agents.split(","),
      quota: Object.keys(quota).length > 0 ? quota : null,
      ...(values.reuse === true && { reuse: true }),
    };
    const client = await ask<PutClient>({ method: "PUT", path }, body);
    const done = client.is_new ? "is made" : "is changed";
    say(`The client ${client.name} ${done}.`, client, { values, terminal });
    return 0;
  },

  async remove([name], values, { ask, terminal }) {
    const path = pathOf(name, "clients remove needs a name.");
    const does = `revokes all tokens that operators made for ${name}, and deletes its receivers`;
    const act = { does, answer: { name } };
    const exit = await exitUnlessAgreed(act, { values, terminal });
    if (exit !== undefined) return exit;
    const removed = await ask<{ name: string }>({ method: "DELETE", path });
    say(`The client ${name} is removed; its tokens are revoked within a minute.`, removed, {
      values,
      terminal,
    });
    return 0;
  },

  async receivers([client], values, { ask, terminal }) {
    if (client === undefined) throw new Misuse("clients receivers needs a client's name.");
    const path = `/clients/${clientInPath(client)}/receivers`;
    const { delete: name } = values;
    if (name === undefined) {
      const { receivers } = await ask<ClientReceiversAnswer>(path);
      const rows = receivers.map(({ types, echo, ...receiver }) => ({
        ...receiver,
        types: types.join(", "),
        echo: echo.join(", "),
      }));
      show(values.json === true ? receivers : rows, receiverColumns, { values, terminal });
      return 0;
    }
    const act = { does: `deletes the receiver ${name} of ${client}`, answer: { client, name } };
    const exit = await exitUnlessAgreed(act, { values, terminal });
    if (exit !== undefined) return exit;
    const deleted = await ask<{ client: string; name: string }>({
      method: "DELETE",
      path: `${path}/${encodeURIComponent(name)}`,
    });
    say(`The receiver ${name} is deleted: within a minute it gets no more events.`, deleted, {
      values,
      terminal,
    });
    return 0;
  },
};

const tokenVerbs: Record<string, Command> = {
  async list(_words, values, { ask, terminal }) {
    const { client } = values;
    const tokens = await readAll(async (cursor) => {
      const page = await ask<Tokens>(`/tokens?${pageQuery({ cursor, client })}`);
      return { items: page.tokens, cursor: page.cursor };
    });
    const rows = tokens.map(({ agents, rights, ...token }) => ({
      ...token,
      agents: agents.join(", "),
      rights: rights.join(", "),
    }));
    show(values.json === true ? tokens : rows, tokenColumns, { values, terminal });
    return 0;
  },

  async make(_words, values, { ask, terminal }) {
    const { client, agents, rights, mode, "not-after": notAfter } = values;
    const path = pathOf(client, "tokens make needs --client.");
    const made = await ask<MadeTokenAnswer>(`${path}/tokens`, {
      ...(agents !== undefined && { agents: agents.split(",") }),
      ...(rights !== undefined && { rights: rights.split(",") }),
      ...(mode !== undefined && { mode }),
      ...(notAfter !== undefined && { not_after: instantOf(notAfter) }),
    });
    say(`Token ${made.id}, shown only now: ${made.token}`, made, { values, terminal });
    return 0;
  },

  async revoke([id], values, { ask, terminal }) {
    if (id === undefined) throw new Misuse("tokens revoke needs a token's id.");
    const act = { does: `revokes the token ${id} for good`, answer: { id } };
    const exit = await exitUnlessAgreed(act, { values, terminal });
    if (exit !== undefined) return exit;
    const revoked = await ask<TokenView>(`/tokens/${encodeURIComponent(id)}/revoke`, {});
    say(`The token ${id} is revoked within a minute.`, revoked, { values, terminal });
    return 0;
  },
};

/** Commands for clients and tokens that operators make. */
export const tokenCommands: Record<string, Command> = {
  clients: commandOf("clients", clientVerbs),
  tokens: commandOf("tokens", tokenVerbs),
};

function commandOf(name: string, verbs: Record<string, Command>): Command {
  return ([verb = "list", ...args], values, deps) => {
    const perform = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (perform === undefined)
      throw new Misuse(`${name} is followed by ${Object.keys(verbs).join(", ")}.`);
    if (args.length > 1) throw new Misuse(`${name} ${verb} does not take the word ${args[1]}.`);
    return perform(args, values, deps);
  };
}

function pathOf(name: string | undefined, problem: string): string {
  if (name === undefined) throw new Misuse(problem);
  return `/clients/${encodeURIComponent(name)}`;
}

function pageQuery(given: Record<string, string | undefined>): string {
  const query = new URLSearchParams({ limit: String(pageItems) });
  for (const [name, value] of Object.entries(given)) if (value) query.set(name, value);
  return query.toString();
}

interface Page<Item> {
  items: Item[];
  cursor: string | undefined;
}

async function readAll<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return items;
}

/** Returns the instant of an option: a day is its beginning, UTC. */
function instantOf(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
}
