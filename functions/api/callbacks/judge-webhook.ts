import type { KeyObject } from "node:crypto";
import type { Context } from "hono";
import type { LogFields } from "#shared/lib/log.ts";
import type { SignedCallback } from "#shared/providers/provider.ts";
import { readWebhookCallback } from "#shared/providers/webhook.ts";
import type { ApiDeps, ApiEnv } from "../http/context.ts";
import { answerProblem, answerUnprocessable } from "../http/problem.ts";
import { hourMs } from "#shared/lib/units.ts";

/** Returns the error for a webhook's callback that its sender must correct; undefined for a callback to be queued. */
export type Judge = (c: Context<ApiEnv>, signed: SignedCallback) => Response | undefined;

/** Interval between a process's alarms about callbacks that do not verify. */
const alarmEveryMs = hourMs;

/**
 * Creates the check of webhooks' callbacks: 401 for a wrong signature, 422 for a signed body that is malformed. The
 * dialer, which acts upon callbacks, verifies them again.
 */
export function createJudge({ settings, clock, log }: ApiDeps): Judge {
  let alarmedAt = -Infinity;
  const levelNow = () => {
    const now = clock.now();
    if (now - alarmedAt < alarmEveryMs) return "warning";
    alarmedAt = now;
    return "alarm";
  };
  return (c, signed) => {
    const { account, call } = c.get("callback");
    const fields = fieldsOf(c);
    let key: KeyObject | undefined;
    try {
      key = settings.callbackKeyOf(account);
    } catch (error) {
      log("alarm", "settings.invalid", { ...fields, problem: messageOf(error) });
      const detail = "The secret of this account is missing or wrong here. Retry later.";
      return answerProblem(c, 503, { detail, headers: { "retry-after": "60" } });
    }
    const report = readWebhookCallback(signed, key, call?.id);
    if (report.kind === "reported") return undefined;
    if (report.kind === "unverified") {
      log(levelNow(), "callback.unverified", { ...fields, problem: report.error.header });
      const detail = "The callback is not signed for this call: see errors.";
      const headers = { "www-authenticate": "Standard-Webhooks" };
      return answerProblem(c, 401, { detail, errors: [report.error], headers });
    }
    return refuseBody(c, report.errors, log);
  };
}

/** Answers 422 to a malformed body. */
export function refuseBody(
  c: Context<ApiEnv>,
  errors: { pointer: string; detail: string }[],
  log: ApiDeps["log"],
): Response {
  const texts = errors.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
  log("warning", "callback.malformed", { ...fieldsOf(c), problem: texts.join("; ") });
  return answerUnprocessable(c, errors);
}

/** Returns the log fields of a callback. */
export function fieldsOf(c: Context<ApiEnv>): LogFields {
  const { account, call } = c.get("callback");
  return {
    request_id: c.get("requestId"),
    account,
    ...(call === undefined ? {} : { call_id: call.id }),
  };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : "unreadable");
