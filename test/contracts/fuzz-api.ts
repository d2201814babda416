import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type CallRequest, errorsMax } from "#shared/calls/call-request.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import { secretMark } from "../support/arbitrary-calls.ts";
import {
  arbitraryPosting,
  type PostedRequest,
  type Posting,
} from "../support/arbitrary-requests.ts";
import { validated } from "../support/validated-answers.ts";
import { answerBytesMax, hostileRequests } from "./hostile-requests.ts";
import { type ApiUnderTest, requestIdPattern } from "./http-api/setup.ts";

export interface FuzzedApi extends ApiUnderTest {
  /** Logged events, if they do not go to the console. */
  events?: object[];
}

/** Minimum share of each status among the answers: otherwise most requests would fail at the first check. */
const shareMin = { 201: 0.2, 401: 0.02, 422: 0.2 };
/** Number of answers from which on their shares say something. */
const sharesFrom = 200;

/**
 * Describes the two endpoints under unreasonable requests, on any platform, under `apiEnvironment`. The
 * expected status of each request follows from its construction, not from the code under test.
 *
 * A failure is printed with its `seed` and `path`. Passed to `fc.assert` beside `numRuns`, they repeat it.
 *
 * @param runs number of lists, each of up to ten postings
 */
export function describeFuzz(
  name: string,
  create: () => FuzzedApi,
  { runs }: { runs: number },
): void {
  describe(`hostile requests to the API on ${name}`, () => {
    let api: FuzzedApi;
    let logged: unknown[];
    /** Every request sent, by the id in its answer. */
    let sent: Map<string, Sent>;
    beforeEach(() => {
      api = validated(create());
      logged = api.events ?? [];
      sent = new Map();
      for (const method of ["log", "info", "warn", "error", "debug"] as const) {
        vi.spyOn(console, method).mockImplementation((...words) => void logged.push(...words));
      }
    });
    afterEach(() => {
      vi.restoreAllMocks();
    });

    /**
     * Sends a request, adds it to `accepted` if it was accepted, and checks its answer and the events logged
     * meanwhile.
     */
    async function post(request: PostedRequest, accepted: Sent[]): Promise<Sent> {
      const { path, headers, body, expected } = request;
      logged.length = 0;
      const response = await api.request(path, { method: "POST", headers, body });
      const text = await response.text();
      const requestId = response.headers.get("x-request-id") ?? "";
      const one = { status: response.status, requestId, path, headers, body };
      if (!sent.has(requestId)) sent.set(requestId, one);
      if (one.status === 201) accepted.push(one);
      expect([response.status, requestId, text]).toEqual([
        expect.toBeOneOf([201, 401, 422]),
        expect.stringMatching(requestIdPattern),
        expect.any(String),
      ]);
      const lines = logged.map(lineOf);
      if (response.status === 201) {
        expect(text).toBe("");
        // The expected event proves that logged events are visible here.
        expect(lines.filter((line) => line.includes(requestId))).toEqual([
          expect.stringMatching(/"event":"request\.accepted"/),
        ]);
      } else {
        expectProblem(response, text);
      }
      const leaked = secretsIn(headers, body).filter((secret) => {
        // A pointer leads to an entry of the context by its key.
        const told = text.replaceAll(entryPattern, "");
        return [told, ...lines].some((words) => plain(words).includes(secret));
      });
      expect(leaked, `came back in ${[text, ...lines].join("\n")}`).toEqual([]);
      expect(one.status, `answered in ${expected}'s stead`).toBe(expected);
      return one;
    }

    /** Takes the queued messages and checks that they are these requests, each once and unchanged. */
    async function expectQueued(accepted: readonly Sent[]): Promise<void> {
      const messages = await api.queued(accepted.length);
      for (const message of messages) {
        const origin = sent.get(requestIdOf(message));
        expect([201, origin?.status], `queued: ${JSON.stringify(message)}`).toEqual([201, 201]);
      }
      const blockedBy = (requestId: string) =>
        messages.filter((message) => requestIdOf(message) === requestId).map(heldIn);
      for (const requestId of new Set(accepted.map((one) => one.requestId))) {
        const posted = accepted.filter((one) => one.requestId === requestId).map(postedBy);
        expect(blockedBy(requestId)).toEqual(posted);
      }
      expect(messages).toHaveLength(accepted.length);
    }

    it("answers each 201, 401 or 422, queues what it accepted alone, and repeats no secret", async ({
      annotate,
    }) => {
      const answered = { 201: 0, 401: 0, 422: 0 };
      await fc.assert(
        fc.asyncProperty(
          fc.array(arbitraryPosting, { minLength: 1, maxLength: 10 }),
          async (postings) => {
            const accepted: Sent[] = [];
            const send = async (request: PostedRequest): Promise<Sent> => {
              const one = await post(request, accepted);
              answered[request.expected]++;
              return one;
            };
            try {
              for (const posting of postings) {
                const { first, next } = requestsOf(posting);
                const one = await send(first);
                const another = next && (await send(next));
                if (posting.keyPrefix !== undefined && another?.status === 201) {
                  expect(another.requestId).toBe(one.requestId);
                }
              }
            } catch (error) {
              // The search for a smaller counterexample needs an empty queue.
              await api.queued(accepted.length);
              throw error;
            }
            if (accepted.length > 0) await expectQueued(accepted);
          },
        ),
        { numRuns: runs },
      );
      await expectQueued([]);
      const all = answered[201] + answered[401] + answered[422];
      await annotate(`${name}: ${all} requests, answered ${JSON.stringify(answered)}`);
      for (const status of all < sharesFrom ? [] : ([201, 401, 422] as const)) {
        expect(answered[status] / all, `answers of ${status}`).toBeGreaterThan(shareMin[status]);
      }
    });

    it.each(hostileRequests)("answers $expected to $name", async (request) => {
      const accepted: Sent[] = [];
      await post(request, accepted);
      await expectQueued(accepted);
    });
  });
}

interface Sent extends Pick<PostedRequest, "path" | "headers" | "body"> {
  status: number;
  requestId: string;
}

/** A pointer to an entry of a context, as JSON. */
const entryPattern = /"pointer":"(?:\/\d+)?\/context\/(?:[^"\\]|\\.)*"/g;

/** Returns the requests of a posting, under a key of its own if it has one. */
function requestsOf(posting: Posting): { first: PostedRequest; next: PostedRequest | undefined } {
  const { path, body, expected, keyPrefix, next } = posting;
  const headers = { ...posting.headers };
  if (keyPrefix !== undefined) headers["idempotency-key"] = keyPrefix + crypto.randomUUID();
  const first = { path, body, expected, headers };
  switch (next) {
    case "nothing":
      return { first, next: undefined };
    case "the same":
      return { first, next: first };
    case "other bytes": {
      const more = typeof body === "string" ? `${body} ` : Uint8Array.from([...body, 0x20]);
      const isUsed = keyPrefix !== undefined && expected === 201;
      return { first, next: { ...first, body: more, expected: isUsed ? 422 : expected } };
    }
    case "the other path": {
      const other = path === "/v1/calls" ? "/v1/calls/batch" : "/v1/calls";
      // A request refused by one route may be accepted by the other, so it is repeated on the same one.
      const isKnown = expected === 201;
      return { first, next: isKnown ? { ...first, path: other, expected: 422 } : first };
    }
  }
}

function expectProblem(response: Response, text: string): void {
  const { status, headers } = response;
  expect(headers.get("content-type")).toBe("application/problem+json");
  const problem: { errors?: object[] } = JSON.parse(text);
  expect(problem).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
  if (status === 401) expect(headers.get("www-authenticate")).toMatch(/^Bearer/);
  else expect(problem.errors?.length).toSatisfy((count: number) => count > 0 && count <= errorsMax);
  expect(text.length).toBeLessThan(answerBytesMax);
}

function lineOf(words: unknown): string {
  if (words instanceof Error) return String(words.stack);
  return typeof words === "string" ? words : JSON.stringify(words);
}

/** Removes separators between the digits of a number, and ids and times, whose digits are no number. */
function plain(words: string): string {
  return words
    .replaceAll("such as +12025550123", "")
    .replaceAll(/"[0-9A-HJKMNP-TV-Z]{26}"|"time":"[^"]*"/g, "")
    .replaceAll(/[-_. ()]/g, "");
}

/**
 * Returns the parts of a request that no answer and no log may contain: numbers, by their last digits, the
 * mark, tokens.
 */
function secretsIn(headers: Record<string, string>, body: string | Uint8Array): string[] {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const numbers = plain(text).match(/\d{7,}/g) ?? [];
  const words = (headers["authorization"] ?? "").match(/\w{20,}/g) ?? [];
  return [
    plain(secretMark),
    ...new Set(numbers.map((digits) => digits.slice(-7))),
    ...words.map(plain),
  ];
}

function requestIdOf(message: Message): string {
  return message.kind === "calls" ? message.requestId : "";
}

/** Returns a message's calls and client as text that is equal for equal calls. */
function heldIn(message: Message): string {
  if (message.kind !== "calls") return message.kind;
  return canonical([message.client, message.calls.map(({ request }) => request)]);
}

/** Returns the calls and client of a posted request in the form of `heldIn`. */
function postedBy({ headers, body }: Sent): string {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const posted: CallRequest | CallRequest[] = JSON.parse(text.replace(/^\ufeff/, ""));
  const client = /oc_(crm|shop|salesOnly)/.exec(headers["authorization"] ?? "")?.[1];
  return canonical([client, [posted].flat()]);
}

/** Returns JSON with the keys of every object sorted; `__proto__` is a key like any other. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(",")}}`;
}
