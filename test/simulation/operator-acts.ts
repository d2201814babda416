import type { Answer, Requesting } from "./clients.ts";
import { tokens } from "./plan.ts";
import { type Act, agents, people, type Scenario } from "./scenario.ts";
import type { World } from "./world.ts";
import { jsonRequest } from "../support/json-request.ts";

/** A call as the operator API shows it, with its request if revealed. */
export interface SeenRow {
  id: string;
  state: string;
  reason: string;
  agent_id: string;
  request_id: string;
  /** Absent: the request did not say so. */
  not_before?: string;
  urgent?: true;
  tries?: { number: number };
  redialed_as: string | null;
  revealed: { phone_number: string; mark: string } | undefined;
}

/** An operator's order and its answer. The order holds from the answer on. */
export interface DoneAction {
  act: Act["act"];
  target: string;
  /** Times of the first request and of the answer. */
  begun: number;
  from: number;
  until: number;
}

/** States in which a call ends without being placed, and whose request an operator may see. */
const revealedStates = ["REJECTED", "EXPIRED", "CANCELLED", "NEEDS_REVIEW", "REDIALED"];
const allStates = [...revealedStates, "PLACED", "WAITING", "DIALING", "UNKNOWN"];

/** Creates an operator who performs a scenario's acts through the API, and who knows from outside whose phone rang. */
export function createOperatorActs(
  world: World,
  { acts }: Scenario,
  request: Requesting,
  isPlaced: (id: string) => boolean,
) {
  const done: DoneAction[] = [];
  const resumes: { act: Act["act"]; target: string; askedAt: number; endedAt: number }[] = [];
  /** Ids of calls that an operator took for not placed, though they were. */
  const errors: string[] = [];
  /** Repeats a request until there is an answer. */
  async function ask(path: string, body?: object): Promise<Answer> {
    for (;;) {
      const asked = jsonRequest(tokens.operator, undefined, body);
      const answer = await request(`/operator${path}`, asked);
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
  /** Returns true if the operator believes that the call was placed. */
  const believes = (id: string, errs: boolean): boolean => {
    if (!isPlaced(id)) return false;
    if (errs) errors.push(id);
    return !errs;
  };
  const order = async (act: Act["act"], target: string, path: string, body: object) => {
    const begun = world.now();
    const { status } = await ask(path, body);
    const entry = { act, target, begun, from: world.now(), until: Infinity };
    if (status < 300) done.push(entry);
    return entry;
  };

  /** Pauses calls until a time, or resumes them then. */
  async function pause(
    { act, seconds, endsItself = false }: Act,
    what: { agent_id: string } | { account: string } | { client: string },
  ): Promise<void> {
    const [target = ""] = Object.values(what);
    const endsAt = world.now() + seconds * 1000;
    if (endsItself) {
      const until = new Date(endsAt).toISOString();
      const entry = await order(act, target, "/pause", { ...what, until, reason: "for a while" });
      entry.until = endsAt;
      return;
    }
    await order(act, target, "/pause", what);
    await world.wait(seconds * 1000, "an operator's pause");
    const resume = { act, target, askedAt: world.now(), endedAt: Infinity };
    resumes.push(resume);
    await ask("/resume", what);
    resume.endedAt = world.now();
  }

  async function doAct(given: Act): Promise<void> {
    const { act, which, errs } = given;
    const one = <Item>(items: readonly Item[]) => items[which % Math.max(1, items.length)];
    const agent = one(agents) ?? "plain";
    switch (act) {
      case "cancel call": {
        const row = one(await list("WAITING"));
        if (row !== undefined) await order(act, row.id, `/calls/${row.id}/cancel`, {});
        return;
      }
      case "cancel request": {
        const row = one(await list("WAITING"));
        if (row === undefined) return;
        await order(act, row.request_id, "/cancel", { request_id: row.request_id });
        return;
      }
      case "cancel agent":
        await order(act, agent, "/cancel", { agent_id: agent });
        return;
      case "pause agent":
        await pause(given, { agent_id: agent });
        return;
      case "pause account":
        await pause(given, { account: one(["webhook", "telnyx", "twilio", "vapi"]) ?? "webhook" });
        return;
      case "pause client":
        await pause(given, { client: one(["valid", "second"]) ?? "valid" });
        return;
      case "redial": {
        const row = one([
          ...(await list("NEEDS_REVIEW")),
          ...(await list("REJECTED")),
          ...(await list("EXPIRED")),
        ]);
        if (row === undefined) return;
        if (!believes(row.id, errs)) await ask(`/calls/${row.id}/redial`, { not_placed: true });
        else await ask(`/calls/${row.id}/resolve`, { outcome: "placed" });
        return;
      }
      case "resolve": {
        const row = one(await list("NEEDS_REVIEW"));
        if (row === undefined) return;
        const outcome = believes(row.id, errs) ? "placed" : "not_placed";
        await ask(`/calls/${row.id}/resolve`, { outcome });
        return;
      }
      case "do not call": {
        const { number } = one(people) ?? people[0];
        await order(act, number, "/do-not-call", { add: [number] });
        return;
      }
      case "erase": {
        const { number } = one(people) ?? people[0];
        await order(act, number, "/erase", { phone_number: number });
        return;
      }
    }
  }

  for (const act of acts) {
    world.after(act.atSeconds * 1000, "the operator acts", () => void doAct(act));
  }
  return {
    /** Two pauses of the same target end by one resume, at some time from its request on. */
    done: (): DoneAction[] =>
      done.map((one) => {
        const ends = resumes
          .filter(({ act, target }) => act === one.act && target === one.target)
          .filter(({ endedAt }) => endedAt > one.begun)
          .map(({ askedAt }) => askedAt);
        return { ...one, until: Math.min(one.until, ...ends) };
      }),
    errors,
    /** Returns every call as an operator sees it at the end. */
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
