import { checkKeys } from "#shared/dial-plan/checks.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import {
  answerBytesMax,
  type CheckAnswer,
  parseCheckAnswer,
} from "#shared/policy/check-answers.ts";
import type { Send } from "#shared/lib/http-client.ts";
import { type PostedEvent, postSigned } from "./post-event.ts";

/** A question to a check. */
export interface Question extends PostedEvent {
  /** The check's name in the dial plan, by which its keys are found. */
  check: string;
  url: string;
  /** Time limit of the answer, in milliseconds. */
  limitMs: number;
}

/** Asks a check once. Never throws. */
export type AskCheck = (question: Question) => Promise<CheckAnswer>;

/**
 * Creates a function that asks the plan's checks, signed by Standard Webhooks.
 *
 * @throws if a secret of the plan's checks is malformed
 */
export function createAskCheck(
  plan: Pick<DialPlan, "checks">,
  {
    environment,
    fetch,
    now,
  }: { environment: Record<string, string | undefined>; fetch: Send; now(): number },
): AskCheck {
  const keysOf = checkKeys(plan, environment);
  return async ({ check, url, limitMs, ...posted }) => {
    const keys = keysOf.get(check) ?? [];
    const limits = { limitMs, bytesMax: answerBytesMax + 1 };
    return parseCheckAnswer(await postSigned(posted, { url, keys, ...limits }, { fetch, now }));
  };
}
