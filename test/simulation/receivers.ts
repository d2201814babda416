import type { EventAnswer, PostEvent } from "#functions/dialer/runtime/post-event.ts";
import type { Habits, Receiving, Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** A request to a receiver. */
export interface PostSeen {
  receiver: string;
  id: string;
  /** JSON. */
  body: string;
  at: number;
  /** Time at which its function has the answer. Infinity: it died, or stands still. */
  until: number;
  isTaken: boolean;
}

/** A request to a receiver that a client has made. */
export interface ClientReceiverPost {
  client: string;
  /** JSON. */
  body: string;
}

/** End of the hosts of clients' own receivers, behind the clients' names. */
export const ownHost = "-calls.com";

/** Time limit of a request. */
const limitMs = 15_000;

/**
 * Creates the receivers of the simulated world.
 *
 * @param isStormy true while receivers have their habits; after that they take everything, but for those that are down
 */
export function createReceivers(world: World, { receivers }: Scenario, isStormy: () => boolean) {
  const startAt = world.now();
  const seen: PostSeen[] = [];
  const byName = new Map<string, Receiving>(receivers.map((one) => [one.name, one]));

  const isDown = (name: string) =>
    world.now() < startAt + (byName.get(name)?.downSeconds ?? 0) * 1000;
  const chosen = (one: Receiving): keyof Habits | "taking" => {
    if (isDown(one.name)) return one.downBy;
    if (!isStormy()) return "taking";
    const { failing, busy, gone, hanging, breakingOff } = one.habits;
    const habits = { failing, busy, gone, hanging, breakingOff };
    let left = world.random();
    for (const name of ["failing", "busy", "gone", "hanging", "breakingOff"] as const) {
      left -= habits[name];
      if (left < 0) return name;
    }
    return "taking";
  };

  /** Own receivers fail now and then in a storm. Whose they are their address tells. */
  const own: ClientReceiverPost[] = [];
  const postOwn = async (url: string, body: string): Promise<EventAnswer> => {
    own.push({ client: new URL(url).hostname.replace(ownHost, ""), body });
    await world.wait(world.between(5, 1000), "an own receiver");
    return { status: isStormy() && world.chance(0.3) ? 503 : 204, text: "" };
  };
  const postEvent: PostEvent = async ({ name, url, own: ofClient }, { id, body }) => {
    if (ofClient !== undefined) return postOwn(url, body);
    const one = byName.get(name);
    if (one === undefined) throw new Error(`there is no receiver ${name}`);
    world.mayStop("post");
    await world.wait(0, "post");
    const fate = chosen(one);
    const isTaken = fate === "taking" || fate === "breakingOff";
    const post: PostSeen = { receiver: name, id, body, at: world.now(), until: Infinity, isTaken };
    seen.push(post);
    world.note(`post ${id} to ${name}: ${fate}`);
    const answer = async (ms: number, told: EventAnswer): Promise<EventAnswer> => {
      await world.wait(ms, "a receiver");
      world.mayStop("a receiver answers");
      await world.wait(0, "a receiver answers");
      post.until = world.now();
      return told;
    };
    const quickMs = world.between(5, 1000);
    switch (fate) {
      case "taking":
        return answer(quickMs, { status: world.chance(0.5) ? 200 : 204, text: "" });
      case "failing":
        return answer(quickMs, { status: 503, text: "" });
      case "busy":
        return answer(quickMs, {
          status: 429,
          retryAfterMs: world.between(1, 3600) * 1000,
          text: "",
        });
      case "gone":
        return answer(quickMs, { status: 410, text: "" });
      case "hanging":
        return answer(limitMs, { error: "time_out" });
      case "breakingOff":
        return answer(quickMs, { error: "ECONNRESET" });
    }
  };
  return { seen, own, postEvent };
}
