import type { Lead } from "./read-leads.ts";

const firstNames = [
  "Ada",
  "Ben",
  "Chloe",
  "Diego",
  "Emma",
  "Farid",
  "Grace",
  "Hugo",
  "Ines",
  "Jack",
];
const lastNames = [
  "Abbott",
  "Brooks",
  "Chen",
  "Dalton",
  "Ellis",
  "Flores",
  "Grant",
  "Hayes",
  "Ito",
  "Jensen",
];
const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];

/**
 * Makes 100 leads who do not exist, with the numbers +1 202 555 0100 to 0199, which are kept for fiction (47 CFR 52.15).
 */
export function createFictitiousLeads(agentId: string): Lead[] {
  return firstNames.flatMap((first_name, ten) =>
    lastNames.map((last_name, one): Lead => {
      const number = `+120255501${ten}${one}`;
      return {
        line: 10 * ten + one + 1,
        original: number,
        call: {
          phone_number: number,
          agent_id: agentId,
          context: { first_name, last_name, appointment: days[(ten + one) % days.length] ?? "" },
          timezone: "America/New_York",
        },
      };
    }),
  );
}
