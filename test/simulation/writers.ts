import { markAccepted } from "#shared/calls/issued-ids.ts";
import { createRequestId } from "#shared/calls/ids.ts";
import { jsonRequest } from "../support/json-request.ts";
import type { Answer, Requesting } from "./clients.ts";
import type { DoneAction } from "./operator-acts.ts";
import { hashKey, numberInNames, tokens } from "./plan.ts";
import { ownHost } from "./receivers.ts";
import { people, type Scenario, type Writing } from "./scenario.ts";
import type { World } from "./world.ts";

/** A write of a client or an operator, and its answer. */
export interface Written {
  what: Writing["what"];
  by: Writing["token"];
  /** Whatever it concerns: a request, a number, a receiver, a token. */
  target: string;
  begun: number;
  at: number;
  status: number;
  /** True if nobody was ever given the id. */
  isMadeUp: boolean;
}

/** Writes of one writer that are under way at once. */
const lanes = 5;

/**
 * Creates clients and operators who write as much as they may: orders, opt-outs, receivers, lists and tokens, each write repeated
 * until it is answered.
 *
 * @param accepted returns the ids of requests that were accepted
 */
export function createWriters(
  world: World,
  { writes }: Pick<Scenario, "writes">,
  request: Requesting,
  accepted: () => readonly string[],
) {
  const written: Written[] = [];
  const tokenOf = ({ what, token }: Writing) =>
    what === "lists" || what === "tokens" ? tokens.operator : tokens[token];

  async function ask(path: string, init: RequestInit): Promise<Answer> {
    for (;;) {
      const answer = await request(path, init);
      if (answer !== undefined && answer.status < 500) return answer;
      await world.wait(world.between(1_000, 60_000), "a writer asks again");
    }
  }
  /** Sends a write, and notes its answer. */
  async function write(
    writing: Writing,
    { path, method = "POST", body, ...more }: Sending,
  ): Promise<Answer> {
    const begun = world.now();
    const answer = await ask(path, jsonRequest(tokenOf(writing), method, body));
    const { what, token: by } = writing;
    const { status } = answer;
    written.push({ what, by, begun, at: world.now(), status, isMadeUp: false, ...more });
    return answer;
  }

  /** Cancels requests: of the client, of another one, of which no call has a row, and made-up ones. */
  async function order(writing: Writing, n: number): Promise<void> {
    const own = accepted();
    const fresh = createRequestId(world.now(), world.hex());
    const isMadeUp = n % 5 === 1;
    const known = own[(writing.which + n) % Math.max(1, own.length)];
    const target = isMadeUp ? fresh : (n % 5 === 0 && known) || markAccepted(fresh, hashKey);
    await write(writing, { path: `/v1/requests/${target}/cancel`, body: {}, target, isMadeUp });
  }

  const numberOf = (writing: Writing, n: number): string => {
    const { number } = people[writing.which % people.length] ?? people[0];
    return n === 0 ? number : `+1312555${String(1000 + ((writing.which * 7 + n) % 9000))}`;
  };

  async function makeToken(writing: Writing, n: number): Promise<void> {
    const body = { agents: ["plain"] };
    if (n === 0) await ask("/operator/clients/made", jsonRequest(tokens.operator, "PUT", body));
    const path = "/operator/clients/made/tokens";
    const { text, status } = await ask(path, jsonRequest(tokens.operator, "POST", body));
    if (status !== 201) return;
    const { id }: { id: string } = JSON.parse(text);
    if (n % 2 === 0) await write(writing, { path: `/operator/tokens/${id}/revoke`, target: id });
  }

  async function writeOne(writing: Writing, n: number): Promise<void> {
    const { what, token } = writing;
    switch (what) {
      case "orders":
        return order(writing, n);
      case "opt-outs": {
        const target = numberOf(writing, n);
        const body = { phone_numbers: [target] };
        await write(writing, { path: "/v1/do-not-call", body, target });
        return;
      }
      case "lists": {
        const target = numberOf(writing, n);
        await write(writing, { path: "/operator/do-not-call", body: { add: [target] }, target });
        return;
      }
      case "receivers": {
        const target = `r${n % 4}-${numberInNames}`;
        const url = `https://${token}${ownHost}/${n}`;
        const path = `/v1/receivers/${target}`;
        await write(writing, { path, method: "PUT", body: { url }, target });
        return;
      }
      case "tokens":
        return makeToken(writing, n);
    }
  }

  async function begin(writing: Writing): Promise<void> {
    let next = 0;
    if (writing.what === "tokens") await writeOne(writing, next++);
    const lane = async () => {
      while (next < writing.count) await writeOne(writing, next++);
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  }
  for (const writing of writes ?? []) {
    world.after(writing.atSeconds * 1000, "a writer begins", () => void begin(writing));
  }
  return { written };
}

interface Sending {
  path: string;
  method?: "POST" | "PUT";
  body?: object;
  target: string;
  isMadeUp?: boolean;
}

/**
 * Returns the writes that stop calls as orders, which hold from their answers on.
 *
 * @param clientOf tells the client of a request
 */
export function toOrders(
  written: readonly Written[],
  clientOf: (request: string) => string | undefined,
): DoneAction[] {
  return written.flatMap(({ what, by, target, begun, at, status }): DoneAction[] => {
    const times = { target, begun, from: at, until: Infinity };
    if (status !== 200) return [];
    if (what === "opt-outs" || what === "lists") return [{ act: "do not call", ...times }];
    const isOwn = what === "orders" && clientOf(target) === by;
    return isOwn ? [{ act: "cancel request", ...times }] : [];
  });
}
