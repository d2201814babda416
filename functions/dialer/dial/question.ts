import { minuteMs } from "#shared/lib/units.ts";
import { findZone } from "#shared/telephony/time-zone.ts";
import { zoneNamesOf } from "#shared/telephony/zones-of-number.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import type { Question } from "../runtime/ask-check.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Returns the question to a check about a call. Each question has an id of its own. */
export function toQuestion(
  { call }: Pick<Dial, "call">,
  to: Pick<Question, "check" | "url" | "limitMs">,
  { clock, random, settings }: Pick<DialerDeps, "clock" | "random" | "settings">,
): Question {
  const { phone_number, agent_id } = call.request;
  const timezones = zoneNamesOf(call.request, settings.plan.defaultTimeZone);
  const [only, second] = timezones;
  const timezone = (second === undefined ? only : call.request.timezone) ?? null;
  const body = {
    id: call.id,
    agent_id,
    phone_number,
    timezone,
    timezones,
    local_time: timezone === null ? null : toLocalTime(timezone, clock.now()),
    try: (call.ancestors?.length ?? 0) + 1,
  };
  const { traceparent } = call;
  const id = `check_${random.version()}`;
  return { ...to, id, body: JSON.stringify(body), traceparent };
}

/** Returns the local time in ISO 8601 with its offset, such as `2026-11-24T09:35:00-05:00`. */
function toLocalTime(timezone: string, at: number): string | null {
  const offsetMs = findZone(timezone)?.clocks[0](at)?.offsetMs;
  if (offsetMs === undefined) return null;
  const minutes = Math.abs(offsetMs) / minuteMs;
  const two = (count: number) => String(Math.floor(count)).padStart(2, "0");
  const offset = `${offsetMs < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
  return new Date(at + offsetMs).toISOString().slice(0, 19) + offset;
}
