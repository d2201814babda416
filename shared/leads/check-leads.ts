import type { Forecast, ListedNumbers, SentFileView } from "../answers/answers.ts";
import { fromIndexSet, type Part } from "./divide-leads.ts";
import type { Lead } from "./read-leads.ts";

/** Asks the operator's API. */
type AskOperator = <Answer extends object>(path: string, body: object) => Promise<Answer>;

/** A lead that is left out, and why. */
interface LeftOutLead {
  lead: Lead;
  reason: string;
}

/** Answers of the service about leads that are not sent yet. */
export interface LeadsChecked {
  leftOut: LeftOutLead[];
  /** Forecast of each part alone, of the leads that are not on the list, with their lines in the file. */
  forecasts: { answer: Forecast; lines: number[] }[];
}

/**
 * Checks leads before they are sent: which are on the do-not-call list, which the service would refuse, and when the others
 * would be dialed. Each part is asked about alone, so a later part's times lack the calls of the parts before it.
 */
export async function checkLeads(
  { parts, client }: { parts: readonly Part[]; client: string },
  progress: (partsChecked: number) => void,
  ask: AskOperator,
): Promise<LeadsChecked> {
  const leftOut: LeftOutLead[] = [];
  const forecasts: LeadsChecked["forecasts"] = [];
  for (const [index, { leads }] of parts.entries()) {
    const phone_numbers = leads.map(({ call }) => call.phone_number);
    const found = await ask<ListedNumbers>("/find-listed", { phone_numbers, client });
    const listed = new Set(found.listed);
    const rest = leads.filter((lead, at) => {
      if (listed.has(at)) {
        leftOut.push({ lead, reason: "is on the do-not-call list" });
      }
      return !listed.has(at);
    });
    if (rest.length > 0) {
      const calls = rest.map(({ call }) => call);
      const forecast = await ask<Forecast>("/forecast", { client, calls, items: "problems" });
      for (const { index: at, outcome, errors = [] } of forecast.items ?? []) {
        const lead = rest[at];
        if (outcome !== "refused" || lead === undefined) continue;
        const reason = errors.map((error) => `${fieldOf(error.pointer)} ${error.detail}`.trim());
        leftOut.push({ lead, reason: reason.join("; ") || "is refused by the service" });
      }
      forecasts.push({ answer: forecast, lines: rest.map(({ line }) => line) });
    }
    progress(index + 1);
  }
  return { leftOut, forecasts };
}

/** A file that was begun or sent before. */
export interface Continued {
  /** Null: the file is sent for the first time, or once more. */
  sent: SentFileView | null;
  /** A person's word about a part whose answer was lost. */
  lost?: "accepted" | "not_accepted" | undefined;
}

/**
 * Returns the checked leads that nobody is sent for. Of a part whose request may have been accepted they are those that its
 * request left out, whatever the service says now: fixed and sent, the others would be called once more.
 */
export function findUnsent(
  { parts, leftOut }: { parts: readonly Part[]; leftOut: readonly LeftOutLead[] },
  { sent, lost }: Continued,
): LeftOutLead[] {
  if (sent === null) return [...leftOut];
  const checked = new Map(leftOut.map((one) => [one.lead, one]));
  return parts.flatMap(({ leads }, index) => {
    const part = sent.parts[index];
    // The service refuses to continue a file in other parts.
    if (part?.calls !== leads.length) return [];
    const isFree = part.state === "planned" || (part.is_lost && lost === "not_accepted");
    if (isFree) return leads.flatMap((lead) => checked.get(lead) ?? []);
    const before = fromIndexSet(part.left_out);
    return leads.flatMap((lead, at) =>
      before.has(at) ? (checked.get(lead) ?? { lead, reason: "was left out before" }) : [],
    );
  });
}

/** Returns the field of a pointer such as `/12/phone_number`. */
function fieldOf(pointer: string): string {
  return pointer.split("/").slice(2).join("/");
}
