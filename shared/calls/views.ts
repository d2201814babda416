import type { CallResult } from "./call-result.ts";
import type { CallRow } from "./call-row.ts";
import type { Mode } from "./ids.ts";
import type { Labels } from "./labels.ts";
import { parseSplitMark } from "./split-mark.ts";
import type { CallBack } from "./tries.ts";
import type { CallBackView, ResultView } from "./view-schemas.ts";

export function toResultView(result: CallResult): ResultView {
  const { status, human, word, answeredAt, endedAt, seconds, cost } = result;
  return {
    status,
    human,
    word,
    answered_at: textOf(answeredAt),
    ended_at: textOf(endedAt),
    seconds,
    ...(cost && { cost: { amount: cost.amount, currency: cost.currency } }),
  };
}

export function toHeadersView({
  notBefore,
  isUrgent,
  labels,
}: Pick<CallRow, "notBefore" | "isUrgent" | "labels">): Labels & {
  not_before?: string;
  urgent?: true;
} {
  const not_before = textOf(notBefore);
  return {
    ...(not_before === null ? {} : { not_before }),
    ...(isUrgent ? { urgent: true } : {}),
    ...labels,
  };
}

function textOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

export function toSplitView({ split }: Pick<CallRow, "split">): { split?: string } {
  return split === undefined ? {} : { split: parseSplitMark(split).name };
}

export function toCallBackView({
  callBack: { at, reason },
  next,
}: { callBack: CallBack } & Pick<CallRow, "next">): CallBackView {
  if (at === undefined) return { at: null, call_id: null, by: "nobody", reason: reason ?? null };
  return { at: textOf(at), call_id: next?.id ?? null, by: "service", reason: null };
}

export function toTestView({ mode }: { mode: Mode | undefined }): { test?: true } {
  return mode === "test" ? { test: true } : {};
}
