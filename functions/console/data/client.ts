import type { Problem } from "#shared/lib/problem.ts";

/** Sends a request to the operator's API with the operator's token: by GET, by POST with a body, or as the path begins: `PUT /…`. */
export type Ask = <Answer>(path: string, body?: object) => Promise<Answer>;

/** An unsuccessful answer. Its message is for people. */
export class AskError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Time within which the service must have answered: a large forecast or batch takes some seconds. */
const answerMsMax = 60_000;

const base = location.pathname.replace(/\/+$/, "");

/** Maximum characters of a body that is sent even if the page is closed meanwhile. Browsers allow 64 KiB. */
const keptCharactersMax = 10_000;

/** Sends a request to the operator's API on the page's own origin. */
export async function ask<Answer>(token: string, asked: string, body?: object): Promise<Answer> {
  const [, named, path = ""] = /^(?:(PUT|DELETE) )?(.*)$/.exec(asked) ?? [];
  const text = body === undefined ? "" : JSON.stringify(body);
  const response = await fetch(base + path, {
    method: named ?? (body === undefined ? "GET" : "POST"),
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(text === "" ? {} : { body: text, keepalive: text.length < keptCharactersMax }),
    redirect: "error",
    signal: AbortSignal.timeout(answerMsMax),
  }).catch((error: unknown) => {
    throw new AskError(0, unansweredText(error, body !== undefined));
  });
  const answer: (Answer & Partial<Problem>) | undefined = await response
    .json()
    .catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  if (response.ok) throw new AskError(0, "The answer of the service could not be read.");
  const errors = (answer?.errors ?? []).map(
    ({ pointer = "", parameter = pointer.slice(1), detail }) => `${parameter} ${detail}`,
  );
  throw new AskError(
    response.status,
    [answer?.detail ?? `HTTP ${response.status}`, ...errors].join(" "),
  );
}

function unansweredText(error: unknown, isAction: boolean): string {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  if (!isLate) return "The service cannot be reached.";
  const perhaps = isAction ? " It may have done what was asked." : "";
  return `The service has not answered within ${answerMsMax / 1000} s.${perhaps}`;
}

/** Maximum tries of an action that may be repeated, and the time between them. */
const triesMax = 4;
const retryMs = 2000;

/** Performs an action that may be repeated, and repeats it while no answer comes or the service cannot be reached. */
export async function askRepeatedly<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      const isPassing = error instanceof AskError && [0, 503].includes(error.status);
      if (!isPassing || tries === triesMax) throw error;
      await new Promise((next) => setTimeout(next, retryMs));
    }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "That did not work.";
}
