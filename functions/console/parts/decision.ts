import type { CallView, Redialed } from "#shared/answers/answers.ts";
import type { Ask } from "./desk.tsx";

/** The three decisions about a call that needs review, and the key of each. */
export const decisions = {
  placed: { key: "p", label: "Mark as placed", done: "Marked as placed." },
  redial: { key: "a", label: "Not placed: call again", done: "The call is made again" },
  close: { key: "c", label: "Not placed: close", done: "Closed." },
} as const;
export type Decision = keyof typeof decisions;
export const decisionNames: readonly Decision[] = ["placed", "redial", "close"];

/**
 * Carries out a decision about a call that needs review, as it was shown. Resolves to a message for the operator.
 */
export async function decide(
  ask: Ask,
  { id, updated_at }: Pick<CallView, "id" | "updated_at">,
  decision: Decision,
): Promise<string> {
  const path = `/calls/${encodeURIComponent(id)}`;
  if (decision === "redial") {
    const made = await ask<Redialed>(`${path}/redial`, { not_placed: true, updated_at });
    return `${decisions.redial.done} as ${made.id}.`;
  }
  const outcome = decision === "placed" ? "placed" : "not_placed";
  await ask<CallView>(`${path}/resolve`, { outcome, updated_at });
  return decisions[decision].done;
}
