import { toSplitMark } from "#shared/calls/split-mark.ts";
import { chooseArm, findSplit } from "#shared/dial-plan/splits.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { findRound, type Round } from "#shared/policy/split-rounds.ts";
import type { CallsMessage } from "#shared/ports/call-messages.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Time for which a process caches a round. A round changes only with the plan, and so with the process. */
const roundMsMax = minuteMs;

type ArmDeps = Pick<DialerDeps, "documents" | "settings" | "clock" | "random" | "memory">;

/**
 * Returns a message in which each call to a split has the agent of an arm. A call with a row has the agent of its
 * row, whatever a later delivery of its message chooses.
 *
 * @throws if the ledger cannot be reached
 */
export async function chooseArms(message: CallsMessage, deps: ArmDeps): Promise<CallsMessage> {
  const { plan } = deps.settings;
  const names = new Set(
    message.calls.flatMap(({ request }) =>
      findSplit(request.agent_id, plan) === undefined ? [] : request.agent_id,
    ),
  );
  if (names.size === 0) return message;
  const rounds = new Map<string, Round>();
  for (const name of names) rounds.set(name, await knownRound(name, deps));
  const calls = message.calls.map((one) => {
    const { agent_id: name } = one.request;
    const split = findSplit(name, plan);
    const round = rounds.get(name);
    if (split === undefined || round === undefined) return one;
    const arm = chooseArm({ name, phoneNumber: one.request.phone_number }, split.arms, round.key);
    const request = { ...one.request, agent_id: arm };
    return { ...one, request, split: toSplitMark({ name, since: round.since }) };
  });
  return { ...message, calls };
}

/** Returns the round of a split of the plan. */
async function knownRound(name: string, deps: ArmDeps): Promise<Round> {
  const { documents, clock, random, memory, settings } = deps;
  const now = clock.now();
  const split = findSplit(name, settings.plan) ?? { arms: {}, detectPoints: 0 };
  const { arms } = split;
  const known = memory.rounds.get(name);
  if (known !== undefined && known.arms === arms && Math.abs(now - known.readAt) < roundMsMax) {
    return known.round;
  }
  const stores = { documents, freshVersion: () => random.version() };
  const firstKey = settings.armsKeyOf(name);
  const round = await findRound({ name, split, firstKey }, now, stores);
  memory.rounds.set(name, { round, arms, readAt: now });
  return round;
}
