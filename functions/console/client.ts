import type { Problem } from "../api/http/problem-schema.ts";

/** An unsuccessful answer. Its message is for people. */
export class AskError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const base = location.pathname.replace(/\/+$/, "");

/** Maximum characters of a body that is sent even if the page is left meanwhile. Browsers allow 64 KiB. */
const keptCharactersMax = 10_000;

/** Sends a request to the operator's API on the page's own origin. */
export async function ask<Answer>(token: string, path: string, body?: object): Promise<Answer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const response = await fetch(base + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(text === "" ? {} : { body: text, keepalive: text.length < keptCharactersMax }),
  }).catch(() => {
    throw new AskError(0, "The service cannot be reached.");
  });
  const answer: Answer & Partial<Problem> = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const errors = (answer.errors ?? []).map(
    ({ pointer = "", parameter = pointer.slice(1), detail }) => `${parameter} ${detail}`,
  );
  throw new AskError(
    response.status,
    [answer.detail ?? `HTTP ${response.status}`, ...errors].join(" "),
  );
}
