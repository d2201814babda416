import { hourMs, minuteMs } from "../../../shared/lib/units.ts";
import { agentSeenOf } from "../../../shared/policy/breakers.ts";
import { changeDocument } from "../../../shared/ports/change-document.ts";
import { hasLateAgents } from "../../../shared/providers/routes.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { JudgedCall } from "./judged-call.ts";

/** Interval at which a process notes again that an agent takes calls. */
const agentNotedMs = 10 * minuteMs;

/** Notes that an agent takes calls, where one that is late would be taken for one that does not exist. */
export async function noteAgent(call: JudgedCall, deps: DialerDeps): Promise<void> {
  if (!hasLateAgents(call.route)) return;
  const { clock, memory } = deps;
  const now = clock.now();
  const key = agentSeenOf(call);
  if (now - (memory.agentsNotedAt.get(key) ?? -Infinity) < agentNotedMs) return;
  memory.agentsNotedAt.set(key, now);
  const change = () => ({ value: { at: now }, expiresAt: now + hourMs });
  await changeDocument({ name: { kind: "failures", key }, change }, deps);
}

/** True if a call of the agent was placed within the hour: it exists, and is late. */
export async function wasSeen(
  call: JudgedCall,
  { documents, clock }: DialerDeps,
): Promise<boolean> {
  const key = agentSeenOf(call);
  const note = (await documents.read([{ kind: "failures", key }])).get("failures", key);
  return (note?.value["at"] ?? -Infinity) > clock.now() - hourMs;
}
