import { expect } from "vitest";
import type { Call, Route } from "#shared/calls/call-request.ts";
import type {
  DialingProvider,
  DialOutcome,
  FoundCall,
  PlacedCall,
  ReadResult,
} from "#shared/providers/provider.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { sendByNode } from "#shared/aws/node-client.ts";
import { type Send, Withheld } from "#shared/lib/http-client.ts";
import { aCall } from "../support/calls.ts";
import type { Received } from "../support/receiver.ts";
import { routeOf } from "../support/test-adapter.ts";
import { startTestReceiver } from "../support/test-receiver.ts";

/** A request in the form of the provider's reference. */
interface ExpectedRequest {
  /** Default: GET without a body, POST with one. */
  method?: string;
  path: string;
  headers: Record<string, unknown>;
  body?: unknown;
}

/**
 * Origin of a fixture. `capture`: somebody received it and published it. `example`: the vendor's own example.
 * `made`: made from the vendor's reference or source code, so that its form is sure only as far as that describes it.
 */
export type FixtureSource = "capture" | "example" | "made";

/** An answer from a provider's published reference, and its outcome. */
export interface AnswerFixture {
  /** Source of the answer. */
  page: string;
  /** Default: made. */
  source?: FixtureSource;
  /** Text of the body that decides the outcome. It must decide it within a longer message, too. */
  text?: string;
  /** Description of the answer on its page in docs/providers. Default: its source. */
  says?: string;
  status: number;
  headers?: Record<string, string>;
  body: unknown;
  outcome: DialOutcome;
}

/** A look-up in a provider's records: the answers of its list in turn, and the result. */
export interface LookUpFixture {
  page: string;
  /** Description of the records on its page in docs/providers. Default: their source. */
  says?: string;
  /** Attempt that is sought. Default: the first. */
  attempt?: number;
  asks(call: Call): ExpectedRequest[];
  answers(call: Call): unknown[];
  found: FoundCall | undefined;
}

/** A record of a placed call, and its result. */
export interface ResultFixture {
  /** Source of the word. */
  page: string;
  /** The word, as its page in docs/providers has it. */
  says: string;
  /** Fields of the record that matter, in the provider's form. */
  record: Record<string, unknown>;
  /** Fields that differ from those of a result without facts. */
  result: Partial<ReadResult> & Pick<ReadResult, "status">;
  /** False if a list leaves such a call out, as its row does not tell enough. */
  isListed?: boolean;
}

/** The facts about a provider's records of placed calls. */
export interface ResultsUnderTest {
  fixtures: ResultFixture[];
  /** Requests by which a record is read, the later ones only where the first answer does not tell all. */
  asks(providerCallId: string): ExpectedRequest[];
  /** Answers to them for a call of ours whose record has these fields. */
  answers(record: object, placed: PlacedCall): unknown[];
  /** Records with a word that no table has: of a call that was answered, if one can show it, and of one that does not. */
  unmapped(word: string): { answered?: object; unanswered: object };
  /** Fields by which a record proves that the call was answered, whatever its word is for the end. */
  proof?: object;
  /** Our own fields that a record repeats. */
  tells: ("id" | "attempt")[];
  list?: {
    /** Requests for two pages, the second after an answer of `page(…, true)`. */
    asks(from: number): ExpectedRequest[];
    rowOf(providerCallId: string, record: object): object;
    page(rows: object[], hasClientEntries: boolean): unknown;
  };
}

/** The facts about a provider that the suite needs. */
export interface ProviderUnderTest {
  type: string;
  /** Title of the suite, if the type is ambiguous. */
  title?: string;
  /** The provider's own fields of a route. */
  fields: object;
  secrets: Record<string, string>;
  /** The requests for the first attempt at a call, usually one. */
  requests(call: Call): ExpectedRequest[];
  /** Parses a request's body. Default: JSON. */
  read?(text: string): unknown;
  /** Answer to every request except the last. */
  firstAnswer?: object;
  fixtures: AnswerFixture[];
  /** Look-ups, if the provider supports them. */
  lookUps?: LookUpFixture[];
  /** Results of placed calls, if its records tell them. */
  results?: ResultsUnderTest;
  /** True if its records do not name a call: their place, such as a room, does. */
  namesNoCall?: boolean;
}

/** Period in which the suite looks for a call. */
export const sought = {
  from: Date.parse("2026-11-20T23:59:58.500Z"),
  until: Date.parse("2026-11-21T00:00:40Z"),
};

export type AnswerWith = Parameters<typeof startTestReceiver>[0];

/** Time limit of a request whose answer comes, on a machine that may do much else. */
export const patientSeconds = 60;

interface DialOptions {
  guarded?: (own: Send) => Send;
  /** Time limit of the dialing. Shorter where a test waits for it to pass. */
  timeoutSeconds?: number;
}

/** Creates what the parts of the suite share: the provider under test at receivers that answer as a test says. */
export function createProviderBench(provider: ProviderUnderTest) {
  const { type, fields, secrets, read = (text): unknown => JSON.parse(text) } = provider;
  const requestsMax = provider.requests(aCall()).length;

  const routeAt = (baseUrl: string) => routeOf(type, fields, baseUrl);
  const providerAt = (baseUrl: string, send: Send = sendByNode): DialingProvider<Route> => {
    const options = { environment: secrets, fetch: send, now: Date.now, print: () => undefined };
    return createProviders(options, [routeAt(baseUrl)])(routeAt(baseUrl));
  };
  const dialAt = (
    baseUrl: string,
    call = aCall(),
    send: Send = sendByNode,
    { guarded = (own) => own, timeoutSeconds = patientSeconds }: DialOptions = {},
  ): Promise<DialOutcome> =>
    providerAt(baseUrl, send).dial({ call, attempt: 1, timeoutSeconds, guarded }, routeAt(baseUrl));

  return {
    provider,
    requestsMax,
    routeAt,
    dialAt,

    /** Dials a receiver that gives this last answer. Resolves to the outcome and all requests received. */
    async dial(answer: AnswerWith, call = aCall(), options: DialOptions = {}) {
      const receiver = await startTestReceiver((request, response, received) => {
        if (received.length >= requestsMax) answer(request, response, received);
        else response.end(JSON.stringify(provider.firstAnswer));
      });
      return {
        outcome: await dialAt(receiver.url, call, sendByNode, options),
        received: receiver.received,
      };
    },

    /** Dials where the last look withholds the request. Resolves to the error, the looks, and the requests received. */
    async dialWithheld() {
      const receiver = await startTestReceiver((_request, response) => {
        response.end(JSON.stringify(provider.firstAnswer));
      });
      let looks = 0;
      const guarded = () => async () => {
        looks += 1;
        throw new Withheld("not any more");
      };
      const error: unknown = await dialAt(receiver.url, aCall(), sendByNode, { guarded }).catch(
        (thrown: unknown) => thrown,
      );
      return { error, looks, received: receiver.received };
    },

    /** Dials through a fetch that gives this last answer, without a network. */
    async dialAnswered(status: number, text: string): Promise<DialOutcome> {
      let sent = 0;
      const answer: Send = async () =>
        ++sent >= requestsMax
          ? new Response([204, 205, 304].includes(status) ? null : text, { status })
          : Response.json(provider.firstAnswer);
      return dialAt("https://provider.example", aCall(), answer);
    },

    /** Looks a call up at a receiver that gives this answer. */
    async lookUp(answer: AnswerWith, { call = aCall(), attempt = 1 } = {}) {
      const receiver = await startTestReceiver(answer);
      const { lookUp: find } = providerAt(receiver.url);
      const found = find?.({ call, attempt, ...sought }, routeAt(receiver.url));
      return { found: (await found?.catch(() => "not to be asked")) ?? "nothing", ...receiver };
    },

    /** Reads the result of a placed call at a receiver that gives this answer. */
    async readResult(answer: AnswerWith, placed: PlacedCall) {
      const receiver = await startTestReceiver(answer);
      const asked = providerAt(receiver.url).readResult?.(placed, routeAt(receiver.url));
      return { result: await asked?.catch(errorOf), ...receiver };
    },

    /** Reads the result of a placed call through a fetch that gives these answers, without a network. */
    async readAnswered(answers: unknown[], placed: PlacedCall) {
      const left = [...answers];
      const send: Send = async () => Response.json(left.shift());
      const url = "https://provider.example";
      return providerAt(url, send).readResult?.(placed, routeAt(url)).catch(errorOf);
    },

    /** Lists results at a receiver that gives this answer. */
    async listResults(answer: AnswerWith, from: number) {
      const receiver = await startTestReceiver(answer);
      const asked = providerAt(receiver.url).listResults?.(from, routeAt(receiver.url));
      return { results: await asked?.catch(errorOf), ...receiver };
    },

    /** Expects these requests, in this order. */
    expectRequests(received: Received[], expected: ExpectedRequest[]) {
      expect(received.map(({ path }) => path)).toEqual(expected.map(({ path }) => path));
      for (const [index, one] of expected.entries()) {
        const { headers, body } = one;
        const { method, headers: sent, text = "" } = received[index] ?? {};
        expect(method).toBe(one.method ?? (body === undefined ? "GET" : "POST"));
        expect(sent).toMatchObject(headers);
        expect(body === undefined ? text : read(text)).toEqual(body ?? "");
      }
    },
  };
}
export type ProviderBench = ReturnType<typeof createProviderBench>;

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error("something else was thrown");
}

/** True for an outcome that lets somebody be dialed again, or a call be given up. */
export function saysNotPlaced({ kind }: DialOutcome): boolean {
  return ["rejected", "not_placed", "account_refused", "route_refused"].includes(kind);
}
