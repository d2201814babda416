import { beforeEach, expect } from "vitest";
import { toCalls, type Message } from "#shared/ports/call-messages.ts";
import { tokens } from "#test/support/environment.ts";
import { validated } from "#test/support/validated-answers.ts";
import { jsonRequest } from "#test/support/json-request.ts";

export interface ApiUnderTest {
  /** Sends a request to the API; `path` begins with a slash. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Removes and returns the queued messages, once there are at least `count`. */
  queued(count: number): Promise<Message[]>;
}

interface Problem {
  title: string;
  status: number;
  detail: string;
  errors?: { pointer?: string; header?: string; detail: string }[];
}

export const paths = ["/v1/calls", "/v1/calls/batch"] as const;
/** A ULID: 26 digits of Crockford's base32. */
export const requestIdPattern = /^[0-9A-HJKMNP-TV-Z]{26}$/;
export const valid = { phone_number: "+12025550123", agent_id: "agent_sales" };

export function idsOf(message: Message | undefined): string[] {
  return message?.kind === "calls" ? toCalls(message).map(({ id }) => id) : [];
}

export function requestsOf(message: Message | undefined): object[] {
  return message?.kind === "calls" ? message.calls.map(({ request }) => request) : [];
}

/** Returns the answer as a problem, after asserting the common properties of all problems. */
export async function problemOf(response: Response, status: number): Promise<Problem> {
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.any(String)]);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(response.headers.get("x-request-id")).toMatch(requestIdPattern);
  const problem: Problem = JSON.parse(text);
  expect(problem).toMatchObject({ status, title: expect.any(String) });
  return problem;
}

export const pointersOf = async (response: Response) =>
  (await problemOf(response, 422)).errors?.map(({ pointer, header }) => pointer ?? header);

/** Returns a single call and a batch of that call alone: the same rules hold for both. */
export const asBoth = (call: unknown) =>
  [
    ["/v1/calls", call, ""],
    ["/v1/calls/batch", [valid, call], "/1"],
  ] as const;

/** The API of the tests of one `describe`, and their helpers. */
export interface HttpApiBench extends ApiUnderTest {
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  nothingQueued(): Promise<void>;
}

/** Creates an API before each test of a `describe`. */
export function useHttpApi(create: () => ApiUnderTest): HttpApiBench {
  let api: ApiUnderTest;
  beforeEach(() => {
    api = validated(create());
  });

  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    api.request(path, jsonRequest(tokens.crm, "POST", body, headers));
  const nothingQueued = async () => expect(await api.queued(0)).toEqual([]);

  return {
    request: (path, init) => api.request(path, init),
    queued: (count) => api.queued(count),
    post,
    nothingQueued,
  };
}
