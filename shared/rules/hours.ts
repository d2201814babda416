import type { Opening } from "../telephony/calling-hours.ts";
import type { Facts, Verdict, Texts } from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";

type Asked = Pick<ResolvedCall, "call" | "target" | "expiresAt">;

/** The callee's hours are closed when the call would leave. It waits until they open, or ends if they never do in its lifetime. */
export function admit(
  { call, target, expiresAt }: Asked,
  { at, schedule }: Pick<Facts, "at" | "schedule">,
): Verdict | undefined {
  if (target === undefined) return undefined;
  const window = { from: at, until: expiresAt };
  return judge(schedule.opening(call.request, target.route, window), at);
}

/** The callee's hours are closed now, without the margins with which the call was admitted. */
export function stay(
  call: Asked,
  { now, schedule }: Pick<Facts, "now" | "schedule">,
): Verdict | undefined {
  const { target } = call;
  if (target === undefined) return undefined;
  if (schedule.closedBy(call.call.request, target.route, now) === undefined) return undefined;
  return admit(call, { at: now, schedule }) ?? { kind: "hold", reason: "claim_too_old" };
}

function judge(opening: Opening, at: number): Verdict | undefined {
  const reason = `hours:${opening.closedBy ?? ""}`;
  if (opening.at === undefined) return { kind: "end", state: "EXPIRED", reason };
  return opening.at <= at ? undefined : { kind: "later", reason, at: Math.ceil(opening.at) };
}

export const texts: Texts = {
  hours: {
    means: "The calling hours of the rule after the colon are closed.",
    holds: (name) => `The calling hours ${hoursName(name)}are closed.`,
    endedBy: "time",
  },
};

/** Names a rule of hours by its place in the plan: `countries.FR` is `of FR`. */
function hoursName(rule: string): string {
  const [kind = "", ...rest] = rule.split(".");
  if (["countries", "regions"].includes(kind)) return `of ${rest.join(".")} `;
  return rule === "callingHours.default" || rule === "" ? "" : `of ${rule} `;
}
