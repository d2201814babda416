import type { Answer, Requesting } from "./clients.ts";
import { tokens } from "./plan.ts";
import type { Placement } from "./provider.ts";
import { type Act, agents, people, type Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** A call as the operator API shows it, and what it says of it when asked to. */
export interface SeenRow {
  id: string;
  state: string;
  reason: string;
  agent_id: string;
  request_id: string;
  redialed_as: string | null;
  revealed: { phone_number: string; mark: string } | undefined;
}

/** What an operator ordered and was answered: from then on it holds. */
export interface DoneAct {
  act: Act["act"];
  target: string;
  /** When it was first asked for, and answered. */
  begun: number;
  from: number;
  until: number;
}

/** States in which a call ends that was not placed, and that an operator sees with all that was posted. */
const revealedStates = ["REJECTED", "EXPIRED", "CANCELLED", "PARKED", "REDIALED"];
const allStates = [...revealedStates, "PLACED", "DEFERRED", "DIALING", "UNKNOWN"];

/** An operator who does what a scenario says, by the API; who asks around, and so knows whose phone rang. */
export function createOperatorActs(
  world: World,
  { acts }: Scenario,
  request: Requesting,
  placements: readonly Placement[],
) {
  const done: DoneAct[] = [];
  const headers = {
    authorization: `Bearer ${tokens.operator}`,
    "content-type": "application/json",
  };
  /** Asks again until there is an answer. */
  async function ask(path: string, body?: object): Promise<Answer> {
    for (;;) {
      const answer = await request(`/operator${path}`, {
        headers,
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
      if (answer !== undefined && answer.status < 500) return answer;
      await world.wait(world.between(1000, 120_000), "the operator asks again");
    }
  }
  async function list(state: string): Promise<SeenRow[]> {
    const found: SeenRow[] = [];
    let cursor: string | undefined;
    do {
      const more: string = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const { text } = await ask(`/calls?state=${state}&limit=100${more}`);
      const page: { calls: SeenRow[]; cursor?: string } = JSON.parse(text);
      found.push(...page.calls);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return found;
  }
  const isPlaced = (id: string) => placements.some((one) => one.id === id);
  const order = async (act: Act["act"], target: string, path: string, body: object) => {
    const begun = world.now();
    const { status } = await ask(path, body);
    const entry = { act, target, begun, from: world.now(), until: Infinity };
    if (status < 300) done.push(entry);
    return entry;
  };

  async function doAct({ act, which, seconds }: Act): Promise<void> {
    const one = <Item>(items: readonly Item[]) => items[which % Math.max(1, items.length)];
    const agent = one(agents) ?? "plain";
    switch (act) {
      case "cancel call": {
        const row = one(await list("DEFERRED"));
        if (row !== undefined) await order(act, row.id, `/calls/${row.id}/cancel`, {});
        return;
      }
      case "cancel request": {
        const row = one(await list("DEFERRED"));
        if (row === undefined) return;
        await order(act, row.request_id, "/cancel", { request_id: row.request_id });
        return;
      }
      case "cancel agent":
        await order(act, agent, "/cancel", { agent_id: agent });
        return;
      case "hold agent":
      case "hold account": {
        const account = one(["webhook", "telnyx", "twilio", "vapi"]) ?? "webhook";
        const what = act === "hold agent" ? { agent_id: agent } : { account };
        const entry = await order(act, act === "hold agent" ? agent : account, "/hold", what);
        await world.wait(seconds * 1000, "an operator's hold");
        // Whoever else has ordered the same meanwhile: one release ends it.
        const same = done.filter((other) => other.act === act && other.target === entry.target);
        for (const other of same) other.until = Math.min(other.until, world.now());
        await ask("/release", what);
        return;
      }
      case "redial": {
        const row = one([
          ...(await list("PARKED")),
          ...(await list("REJECTED")),
          ...(await list("EXPIRED")),
        ]);
        if (row === undefined) return;
        if (!isPlaced(row.id)) await ask(`/calls/${row.id}/redial`, { not_placed: true });
        else await ask(`/calls/${row.id}/resolve`, { outcome: "placed" });
        return;
      }
      case "resolve": {
        const row = one(await list("PARKED"));
        if (row === undefined) return;
        const outcome = isPlaced(row.id) ? "placed" : "not_placed";
        await ask(`/calls/${row.id}/resolve`, { outcome });
        return;
      }
      case "do not call": {
        const { number } = one(people) ?? people[0];
        await order(act, number, "/do-not-call", { add: [number] });
        return;
      }
    }
  }

  for (const act of acts) {
    world.after(act.atSeconds * 1000, "the operator acts", () => void doAct(act));
  }
  return {
    done,
    /** Every call, as an operator can see it, once all is over. */
    async everything(): Promise<SeenRow[]> {
      const found: SeenRow[] = [];
      const look = async () => {
        for (const state of allStates) {
          for (const row of await list(state)) {
            if (!revealedStates.includes(state)) found.push({ ...row, revealed: undefined });
            else {
              const { text } = await ask(`/calls/${row.id}/reveal`, {});
              const { phone_number, context } = JSON.parse(text);
              const mark = String(context?.mark);
              found.push({ ...row, revealed: { phone_number: String(phone_number), mark } });
            }
          }
        }
      };
      const looking = look();
      await world.run(world.now() + 3_600_000);
      await looking;
      return found;
    },
  };
}
