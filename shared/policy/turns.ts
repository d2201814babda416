import { backlogOfKey, waitingLaneOf } from "../calls/call-row.ts";

/**
 * Waiting items of backlogs, served round robin over clients, then over a client's agents. Urgent items take their
 * client's turns first, and no other client's.
 */
export interface Turns<Item> {
  /** Adds items after those of the same backlog, a name made by `waitingLaneOf`. */
  add(backlog: string, items: readonly Item[]): void;
  /** Removes and returns the item whose turn it is, with its client and backlog; undefined if none is left. */
  next(): { client: string; backlog: string; item: Item } | undefined;
}

/** The client served last, and the agent served last of each client. */
export interface Served {
  client: string;
  agents: Map<string, string>;
}

export function copyServed({ client, agents }: Served): Served {
  return { client, agents: new Map(agents) };
}

/**
 * Decides whose turn it is, for dispatchers and forecasts alike.
 *
 * @param served position of the turns, which `next` moves
 */
export function createTurns<Item>(served: Served): Turns<Item> {
  /** The agents with waiting items of each client, in order: those with urgent ones, and those with others. */
  const clients = new Map<string, { urgent: string[]; others: string[] }>();
  /** The clients with waiting items, in order. */
  const names: string[] = [];
  const waiting = new Map<string, { items: Item[]; taken: number }>();

  return {
    add(backlog, items) {
      if (items.length === 0) return;
      const known = waiting.get(backlog);
      if (known !== undefined) {
        known.items.push(...items);
        return;
      }
      waiting.set(backlog, { items: [...items], taken: 0 });
      const { client, agentId, isUrgent } = backlogOfKey(backlog);
      const own = clients.get(client) ?? { urgent: [], others: [] };
      if (!clients.has(client)) {
        clients.set(client, own);
        names.splice(countUpTo(names, client), 0, client);
      }
      const agents = isUrgent ? own.urgent : own.others;
      agents.splice(countUpTo(agents, agentId), 0, agentId);
    },
    next() {
      const turn = countUpTo(names, served.client) % Math.max(1, names.length);
      const client = names[turn];
      const own = client === undefined ? undefined : clients.get(client);
      if (client === undefined || own === undefined) return undefined;
      const isUrgent = own.urgent.length > 0;
      const agents = isUrgent ? own.urgent : own.others;
      const agentTurn = countUpTo(agents, served.agents.get(client) ?? "") % agents.length;
      const agent = agents[agentTurn] ?? "";
      const backlog = waitingLaneOf({ client, agentId: agent, isUrgent });
      const queue = waiting.get(backlog);
      const item = queue?.items[queue.taken];
      if (queue === undefined || item === undefined) return undefined;
      served.client = client;
      served.agents.delete(client); // re-inserted, so that the map's last entries are the latest turns
      served.agents.set(client, agent);
      queue.taken += 1;
      if (queue.taken === queue.items.length) {
        waiting.delete(backlog);
        agents.splice(agentTurn, 1);
        if (own.urgent.length + own.others.length === 0) {
          clients.delete(client);
          names.splice(turn, 1);
        }
      }
      return { client, backlog, item };
    },
  };
}

/** Counts the sorted names that are not greater than `name`. */
function countUpTo(names: readonly string[], name: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle] ?? "") <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}
