import type { Send } from "../lib/http-client.ts";
import * as z from "../lib/zod.ts";
import { idText } from "./define-provider.ts";
import { ask } from "./provider-http.ts";
import type { DialOutcome } from "./provider.ts";

/**
 * Waits before each look for the agent, in milliseconds; the last one repeats. A running worker takes a job within
 * milliseconds, one that must start within 10 to 20 s.
 */
const agentWaitsMs = [0, 250, 500, 750, 1000, 1500];
/** Minimum time for a look, in milliseconds: one that is cut short says nothing, not even what those before it saw. */
const lookMsMin = 500;

/** Divides `timeoutSeconds` between dispatch, the agent's arrival and the call, in whole milliseconds. */
export function splitTime(timeoutSeconds: number, agentWaitSeconds: number) {
  const all = timeoutSeconds * 1000;
  const agent = Math.min(agentWaitSeconds * 1000, Math.round((all * 2) / 3));
  const dispatch = Math.round((all - agent) / 3);
  return { dispatch: dispatch / 1000, agent: agent / 1000, call: (all - agent - dispatch) / 1000 };
}

export const roomSchema = () =>
  z.object({
    participants: z._default(
      z.array(
        z.object({
          sid: idText,
          identity: z.string(),
          kind: z.optional(z.union([z.string(), z.number()])),
          attributes: z.optional(z.record(z.string(), z.string())),
        }),
      ),
      [],
    ),
  });

const dispatchesSchema = () =>
  z.array(
    z.object({
      state: z.nullish(
        z.object({
          jobs: z._default(
            z.array(
              z.object({
                state: z.nullish(
                  z.object({ status: z.optional(z.union([z.string(), z.number()])) }),
                ),
              }),
            ),
            [],
          ),
        }),
      ),
    }),
  );

const listSchema = () =>
  z.object({
    agent_dispatches: z.optional(dispatchesSchema()),
    agentDispatches: z.optional(dispatchesSchema()),
  });

/** Statuses of a job that an agent has taken. JSON omits JS_PENDING, as it is the default. */
const underWay = new Set<unknown>([undefined, 0, 1, "JS_PENDING", "JS_RUNNING"]);

/** Kinds of a participant that is an agent (livekit/protocol, livekit_models.proto). */
const agentKinds = new Set<unknown>(["AGENT", 4]);

/** The API of a project's rooms, and the time limit of one look at a room. */
interface RoomApi {
  baseUrl: string;
  headers: Record<string, string>;
  timeoutSeconds: number;
}

/** Returns the outcome if no agent came to the room in time, undefined if one did. */
export async function findAgentAbsence(
  room: string,
  { baseUrl, headers, timeoutSeconds }: RoomApi,
  send: Send,
): Promise<DialOutcome | undefined> {
  const endsAt = performance.now() + timeoutSeconds * 1000;
  const list = (method: string) =>
    ask(send, `${baseUrl}/twirp/livekit.${method}`, {
      headers,
      json: { room },
      timeoutSeconds: Math.max(endsAt - performance.now(), 1) / 1000,
    });
  let isSeen = false;
  for (let looks = 0; ; looks++) {
    const waitMs = agentWaitsMs[Math.min(looks, agentWaitsMs.length - 1)] ?? 0;
    if (looks > 0 && performance.now() + waitMs + lookMsMin > endsAt) break;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    try {
      const listed = z.built(listSchema).parse(await list("AgentDispatchService/ListDispatch"));
      const dispatches = listed.agent_dispatches ?? listed.agentDispatches ?? [];
      const jobs = dispatches.flatMap(({ state }) => state?.jobs ?? []);
      if (jobs.some(({ state }) => underWay.has(state?.status))) return undefined;
      const inRoom = z.built(roomSchema).parse(await list("RoomService/ListParticipants"));
      if (inRoom.participants.some(({ kind }) => agentKinds.has(kind))) return undefined;
      isSeen = true;
    } catch {
      isSeen = false; // the next look may succeed; a last one that failed says nothing
    }
  }
  return isSeen
    ? { kind: "route_refused", code: "agent_absent", isAbsent: true }
    : { kind: "not_placed", code: "agent_unseen" };
}
