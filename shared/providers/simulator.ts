/**
 * The simulator dials nobody: it prints each call, its number masked to the last two digits, without context. It
 * serves `npm start`; a plan that names it is refused unless ALLOW_SIMULATOR=true. The id that it gives to a call
 * contains the result and the time of dialing, so it needs no memory.
 */
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute } from "./define-provider.ts";
import { resultOf, createWords } from "./provider-records.ts";

/** Routes of the simulator, as a dial plan has them. */
export const simulatorRoutes = defineRoute("simulator", (fields) => z.strictObject(fields), {
  secrets: [],
  reportsVoicemail: () => true,
});

/** Durations of ringing and of a conversation. */
const ringMs = 3_000;
const talkMs = 7_000;

/** Status that a simulated call ends with. */
export type Fate = "completed" | "voicemail" | "no_answer" | "busy";

/** Returns the result of a simulated call, which depends on its number's last digit. */
export function fateOf(number: string): Fate {
  const fates: Record<string, Fate> = { 7: "voicemail", 8: "no_answer", 9: "busy" };
  return fates[number.slice(-1)] ?? "completed";
}

export const simulator = /* @__PURE__ */ defineProvider(simulatorRoutes, ({ print, now }) => ({
  async dial({ call: { id, request } }) {
    const { phone_number, agent_id } = request;
    const masked = "•".repeat(phone_number.length - 3) + phone_number.slice(-2);
    print(`simulator: would dial +${masked} for agent ${agent_id} (${id})`);
    const fate = fateOf(phone_number);
    return { kind: "placed", providerCallId: `simulated-${fate}-${now()}-${id}` };
  },

  async readResult({ id, providerCallId }) {
    const [, fate = "", at = "", ofId] = providerCallId.split("-");
    if (ofId !== id) return undefined;
    const rungAt = Number(at) + ringMs;
    const isAnswered = fate === "completed" || fate === "voicemail";
    const endsAt = isAnswered ? rungAt + talkMs : rungAt;
    const answeredAt = isAnswered && now() >= rungAt ? rungAt : null;
    return resultOf(
      words,
      now() < endsAt ? { word: "live", answeredAt } : { word: fate, answeredAt, endedAt: endsAt },
    );
  },
}));

const words = /* @__PURE__ */ createWords(
  ["live", "live"],
  ["completed", "completed"],
  ["voicemail", "voicemail"],
  ["no_answer", "no_answer"],
  ["busy", "busy"],
);
