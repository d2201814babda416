import * as fc from "fast-check";
import type { AskCheck } from "#functions/dialer/runtime/ask-check.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { findCheck } from "#shared/dial-plan/checks.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { CheckAnswer } from "#shared/policy/check-answers.ts";
import type { Requested } from "./placement.ts";
import type { World } from "./world.ts";

/** Probabilities of a check's answers, beside `call`. */
interface Answers {
  failed: number;
  hangs: number;
  wait: number;
  refuse: number;
  never: number;
}

/** The checks of a scenario. */
export interface Checking {
  validSeconds: number;
  requestsPerSecond: number;
  answers: Answers;
  /** Time from the start on for which the check `crm` gives no answer. */
  downSeconds: number;
}

const percent = (most: number) => fc.nat({ max: 100 }).map((part) => (part / 100) * most);

export const checking: fc.Arbitrary<Checking> = fc.record({
  validSeconds: fc.constantFrom(5, 10, 60),
  requestsPerSecond: fc.constantFrom(20, 20, 1),
  answers: fc.record({
    failed: percent(0.4),
    hangs: percent(0.3),
    wait: percent(0.2),
    refuse: percent(0.1),
    never: percent(0.05),
  }),
  downSeconds: fc.constantFrom(0, 0, 600),
});

/** The part of a scenario that concerns checks. */
interface Checked {
  checks?: Checking | undefined;
  clocks: "same" | "apart" | "stepping";
}

/** The checks that agents of the plan name. */
const checksOf: Record<string, string[]> = {
  plain: ["crm"],
  again: ["crm"],
  command: ["consent", "crm"],
  office: ["consent"],
};

/** Returns agents with the checks that they name, if the scenario has checks. */
export function withChecks<Agents extends Record<string, object>>(
  agents: Agents,
  checks: Checking | undefined,
): Agents | Record<string, object> {
  if (checks === undefined) return agents;
  return Object.fromEntries(
    Object.entries(agents).map(([name, agent]) => {
      const names = checksOf[name];
      return [name, names === undefined ? agent : { ...agent, checks: names }];
    }),
  );
}

/** Returns the plan's checks. */
export function planChecks(checks: Checking | undefined) {
  if (checks === undefined) return {};
  const { validSeconds, requestsPerSecond } = checks;
  const of = { validSeconds, requestsPerSecond };
  const url = "http://127.0.0.1:9/";
  return { checks: { crm: { url, ...of }, consent: { url, ...of, timeoutSeconds: 10 } } };
}

/** A question to a check, and its answer. */
export interface Asked {
  check: string;
  id: string;
  at: number;
  answer: CheckAnswer;
}

/**
 * Creates the checks of the simulated world.
 *
 * @param isStormy true while checks answer as the scenario says; after that they permit every call
 */
export function createChecks(
  world: World,
  { checks }: Pick<Checked, "checks">,
  isStormy: () => boolean,
) {
  const startAt = world.now();
  const seen: Asked[] = [];
  const isDown = (check: string) =>
    check === "crm" && world.now() < startAt + (checks?.downSeconds ?? 0) * 1000;
  const choose = (check: string): keyof Answers | "call" => {
    if (isDown(check)) return "failed";
    if (!isStormy()) return "call";
    let left = world.random();
    for (const [name, chance] of Object.entries(checks?.answers ?? {})) {
      left -= chance;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key of the answers
      if (left < 0) return name as keyof Answers;
    }
    return "call";
  };
  const toAnswer = (name: ReturnType<typeof choose>): CheckAnswer => {
    if (name === "call") return { decision: "call", evidence: `proof ${seen.length}` };
    if (name === "wait")
      return { decision: "wait", until: world.now() + world.between(1, 900_000) };
    if (name === "refuse") return { decision: "refuse", reason: "simulated" };
    return name === "never"
      ? { decision: "never" }
      : { decision: "failed", code: name === "hangs" ? "time_out" : "http_503" };
  };
  const askCheck: AskCheck = async ({ check, body, limitMs }) => {
    const { id }: { id: string } = JSON.parse(body);
    world.mayStop("ask a check");
    await world.wait(0, "ask a check");
    const name = choose(check);
    const at = world.now();
    const answer = toAnswer(name);
    await world.wait(name === "hangs" ? limitMs : world.between(1, limitMs), "a check");
    world.mayStop("a check answers");
    await world.wait(0, "a check answers");
    seen.push({ check, id, at, answer });
    world.note(`check ${check} of ${id}: ${name}`);
    return answer;
  };
  return { seen, askCheck };
}

/** Time after which a request has surely left, once the clock was looked at a last time. */
const leavesMsMax = 500;
/** Maximum difference of two clocks that are apart. */
const apartMs = 4_000;
/** Maximum time until an entry of the do-not-call list takes effect. */
const orderMsMax = 30_000;

/**
 * Checks that each request left while every check of its call permitted it, and that none left to a number of which a
 * check had said never.
 */
export function checkViolations({
  scenario,
  plan,
  asked,
  requests,
  calls,
  rows,
}: {
  scenario: Checked;
  plan: DialPlan;
  asked: readonly Asked[];
  requests: readonly Requested[];
  calls: readonly Call[];
  rows: readonly { id: string; reason: string; updatedAt: number }[];
}): string[] {
  if (scenario.checks === undefined || scenario.clocks === "stepping") return [];
  const slackMs = leavesMsMax + (scenario.clocks === "apart" ? apartMs : 0);
  const callOf = new Map(calls.map((call) => [call.id, call]));
  const askedOf = Map.groupBy(asked, ({ id }) => id);
  const unchecked = requests.flatMap(({ id, leftAt }) => {
    const agent = callOf.get(id)?.request.agent_id;
    const own = askedOf.get(id) ?? [];
    const route = agent === undefined ? undefined : findAgentRoute(agent, plan);
    return (route?.checks ?? []).flatMap((check) => {
      const validMs = (findCheck(check, plan)?.validSeconds ?? 0) * 1000;
      const isFresh = own.some(
        (one) =>
          one.check === check &&
          one.answer.decision === "call" &&
          one.at <= leftAt &&
          leftAt <= one.at + validMs + slackMs,
      );
      const at = new Date(leftAt).toISOString();
      return isFresh
        ? []
        : [`unchecked: ${id} was dialed at ${at} without a fresh call of ${check}`];
    });
  });
  const nevers = rows.filter(({ reason }) => reason.startsWith("check_never:"));
  const against = nevers.flatMap(({ id, updatedAt }) => {
    const number = callOf.get(id)?.request.phone_number;
    return requests
      .filter((one) => callOf.get(one.id)?.request.phone_number === number)
      .filter(({ leftAt }) => leftAt > updatedAt + orderMsMax)
      .map((one) => `against a never: ${one.id} was dialed after the check's word about ${id}`);
  });
  return [...unchecked, ...against];
}
