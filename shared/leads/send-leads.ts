import { toCampaignHeader } from "../calls/campaign-name.ts";
import type { SentFileView, SentPartView } from "../answers/answers.ts";
import { askForClient, postRepeatedly, RefusedError, type SendingDeps } from "./ask-client-api.ts";
import {
  bodyOf,
  type DividedLeads,
  fromIndexSet,
  type Part,
  sha256,
  toIndexSet,
} from "./divide-leads.ts";

/**
 * Longest time from noting that a part is begun to a try of its request. A machine that slept meanwhile begins again: the
 * service then says whether the part's Idempotency-Key still lives.
 */
const begunMsMax = 30 * 60_000;

/** Statuses by which the service itself refuses a batch. */
const refusals = new Set([401, 422]);

/** Choices for the sending of leads. */
export interface Sending extends DividedLeads {
  /** Name of the campaign. */
  campaign: string;
  /** Numbers that are left out. A part that was begun before continues with the numbers that were left out then. */
  leftOut: ReadonlySet<string>;
  /** The round after which the file is sent once more. Absent: a file that was sent is refused. */
  again?: number | undefined;
  /** Word of a person about a part whose answer was lost too long ago to repeat it. */
  lost?: "accepted" | "not_accepted" | undefined;
}

/** State of sending. */
export interface SendingProgress {
  parts: number;
  partsSent: number;
  /** Calls in the parts that were sent, now or before. */
  calls: number;
  requestIds: string[];
}

/**
 * Sends leads part by part, and notes each part before and after its request, so that an interrupted sending
 * continues later without calling anybody twice.
 *
 * @throws RefusedError if the file was sent before, or the service refuses a part
 */
export async function sendLeads(
  sending: Sending,
  progress: (now: SendingProgress) => void,
  deps: SendingDeps,
): Promise<SendingProgress> {
  const { file, parts, campaign, again, lost } = sending;
  const started = await askForClient<SentFileView>(
    "/sent-files",
    {
      file,
      campaign,
      parts: parts.map(({ digest, leads }) => ({ digest, calls: leads.length })),
      ...(again !== undefined && { again }),
    },
    deps,
  );
  const now: SendingProgress = { parts: parts.length, partsSent: 0, calls: 0, requestIds: [] };
  for (const [index, part] of parts.entries()) {
    deps.checkStopped?.();
    const of = { file, round: started.round, index };
    let view = started.parts[index];
    if (view?.is_lost === true && lost !== undefined) {
      const state = lost === "accepted" ? "sent" : "planned";
      view = await askForClient<SentPartView>("/sent-files/parts", { ...of, state }, deps);
    }
    if (view === undefined) throw new Error("The service does not know a part of the file.");
    const sent = await sendPart(part, { view, of, sending }, deps);
    now.partsSent += 1;
    now.calls += part.leads.length - fromIndexSet(sent.left_out).size;
    if (sent.request_id !== null) now.requestIds.push(sent.request_id);
    progress({ ...now, requestIds: [...now.requestIds] });
  }
  return now;
}

/** Sends a part unless it was accepted before. Resolves to it as the service then knows it. */
async function sendPart(
  part: Part,
  {
    view,
    of,
    sending,
  }: { view: SentPartView; of: { file: string; round: number; index: number }; sending: Sending },
  deps: SendingDeps,
): Promise<SentPartView> {
  if (view.state === "sent") return view;
  const chosen = part.leads.flatMap(({ call }, index) =>
    sending.leftOut.has(call.phone_number) ? index : [],
  );
  const left_out = view.state === "begun" ? view.left_out : toIndexSet(new Set(chosen));
  const leftOut = fromIndexSet(left_out);
  const body = bodyOf(part, leftOut);
  // A part that was begun is finished, also when sending is to stop.
  const { post, sleep } = deps;
  const mark = (step: object) =>
    askForClient<SentPartView>("/sent-files/parts", { ...of, ...step }, { post, sleep });
  const content = await sha256(body);
  const until = Date.now() + begunMsMax;
  const attempt = crypto.randomUUID();
  const begun = await mark({ state: "begun", content, left_out, attempt });
  if (begun.state === "sent") return begun;
  if (leftOut.size === part.leads.length) return mark({ state: "sent" });
  const request = {
    path: "/calls",
    body,
    headers: {
      "call-campaign": toCampaignHeader(sending.campaign),
      "idempotency-key": begun.idempotency_key,
    },
  };
  let tries = 0;
  const checkStopped = () => {
    if (tries > 0) deps.checkStopped?.();
    tries += 1;
    if (Date.now() > until)
      throw new Error("Sending was interrupted for long. Send the file again.");
  };
  const sent = await postRepeatedly(request, { post, sleep, checkStopped }).catch(
    async (error: unknown) => {
      if (!(error instanceof RefusedError)) throw error;
      // Nothing of the part was accepted, so it may be sent any time, with other rows left out.
      if (error.isFirst && refusals.has(error.status))
        await mark({ state: "refused", attempt }).catch(() => undefined);
      throw withLines(error, part, leftOut);
    },
  );
  return mark({ state: "sent", request_id: sent.requestId });
}

/** Names the lines of a file in the service's errors about the calls of a request. */
function withLines(error: RefusedError, { leads }: Part, leftOut: ReadonlySet<number>): Error {
  const sent = leads.filter((_, index) => !leftOut.has(index));
  const lines = error.errors.map(({ pointer = "", header, detail }) => {
    const [, index = "", ...field] = pointer.split("/");
    const line = /^\d+$/.test(index) ? sent[Number(index)]?.line : undefined;
    return `${line === undefined ? (header ?? pointer) : `row ${line} ${field.join("/")}`} ${detail}`;
  });
  return new Error([error.message, ...lines].join(" "));
}
