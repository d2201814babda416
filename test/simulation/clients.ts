import { tokens } from "./plan.ts";
import { people, type Post, type PostedCall, type Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** An answer of the API. */
export interface Answer {
  path: string;
  status: number;
  text: string;
  requestId: string;
}

export type Requesting = (path: string, init: RequestInit) => Promise<Answer | undefined>;

/** One call as its client knows it. */
export interface PostedMark {
  /** Text in this call's context, and in no other's. */
  mark: string;
  agent: PostedCall["agent"];
  number: string;
  zone: string;
  token: Post["token"];
  /** Time before which it must not be dialed, in milliseconds since the epoch; undefined: the client named none. */
  notBefore: number | undefined;
  isUrgent: boolean;
  /** `unanswered`: it may have been accepted. */
  status: "accepted" | "refused" | "unreachable";
  /** True if the answer refused the Idempotency-Key, though it had not been used for other calls. */
  isKeyRefused?: boolean;
}

/** Creates clients that post calls. With a key they repeat a request until it is answered, and sometimes once more. */
export function createClients(world: World, { posts }: Scenario, request: Requesting) {
  const posted: PostedMark[] = [];
  let repeats = 0;
  /** Number of keys that each client has used. Different clients may use the same key. */
  const keysOf = new Map<string, number>();

  async function send(post: Post, index: number): Promise<void> {
    const asked = post.batch ?? [post.call];
    const { laterSeconds, isUrgent = false } = post.timing ?? {};
    const notBefore = laterSeconds === undefined ? undefined : world.now() + laterSeconds * 1000;
    const timing = { notBefore, isUrgent };
    const marks = asked.map(({ agent, person }, n): PostedMark => {
      const { number, zone } = people[person] ?? people[0];
      const mark = `mark_${index}_${n}_of_${agent}`;
      return { mark, agent, number, zone, token: post.token, ...timing, status: "unreachable" };
    });
    posted.push(...marks);
    const used = keysOf.get(post.token) ?? 0;
    const isReused = post.key?.reuses === true && used > 0;
    const key = isReused ? used : used + 1;
    keysOf.set(post.token, key);
    const bodies = asked.map(({ agent, person }, n) => {
      const { number: phone_number, timezone } = people[person] ?? people[0];
      const context = { mark: marks[n]?.mark ?? "" };
      if (asked[n]?.bad === true) return { phone_number: "+1", agent_id: agent, context };
      return { phone_number, agent_id: agent, context, ...(timezone ? { timezone } : {}) };
    });
    const init = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(post.token === "none" ? {} : { authorization: `Bearer ${tokens[post.token]}` }),
        ...(post.key === undefined ? {} : { "idempotency-key": `key ${key}` }),
        ...(notBefore === undefined
          ? {}
          : { "call-not-before": new Date(notBefore).toISOString() }),
        ...(isUrgent ? { "call-priority": "urgent" } : {}),
      },
      body: JSON.stringify(post.batch === undefined ? bodies[0] : bodies),
    };
    const path = post.batch === undefined ? "/v1/calls" : "/v1/calls/batch";
    let left = (post.key?.repeats ?? 0) + 1;
    let isDoubtful = false;
    for (;;) {
      const answer = await request(path, init);
      const status = answer?.status ?? 0;
      isDoubtful ||= status === 0 || status >= 500;
      if (status === 201) for (const one of marks) one.status = "accepted";
      else if (!isDoubtful) {
        const isKeyRefused = !isReused && answer?.text.includes("Idempotency-Key") === true;
        for (const one of marks) {
          if (one.status === "unreachable") Object.assign(one, { status: "refused", isKeyRefused });
        }
      }
      if (status !== 0 && status < 500) left -= 1;
      if (post.key === undefined || left <= 0) return;
      repeats += 1;
      const isLast = left === 1 && status === 201;
      const laterMs = isLast || post.key.isPatient === true ? post.key.hoursLater * 3_600_000 : 0;
      await world.wait(laterMs + world.between(1000, 600_000), "a client repeats");
    }
  }

  for (const [index, post] of posts.entries()) {
    world.after(post.atSeconds * 1000, "a client posts", () => void send(post, index));
  }
  return { posted, repeats: () => repeats };
}
