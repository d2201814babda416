import * as fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import { resultStatuses } from "#shared/calls/call-result.ts";
import * as z from "#shared/lib/zod.ts";
import { aCall } from "../support/calls.ts";
import type {
  AnswerWith,
  ProviderBench,
  ResultFixture,
  ResultsUnderTest,
} from "./provider-bench.ts";
import { perTier } from "../support/per-tier.ts";
import { talk } from "../support/provider-results/talk.ts";

const providerCallId = "provider-1";
const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
const phone = "+12025550123";
/** Results of calls that nobody answered. */
const unansweredStatuses = new Set([
  "no_answer",
  "busy",
  "declined",
  "failed",
  "invalid",
  "blocked",
]);

/** Answers each request in turn, and the last answer for ever. */
function inTurn(answers: readonly unknown[]): AnswerWith {
  const all = answers.map((one) => JSON.stringify(one));
  return (_request, response, { length }) => {
    response.end(all[Math.min(length, all.length) - 1]);
  };
}

/** Describes how an adapter reads what became of a placed call. */
export function describeResults(bench: ProviderBench, results: ResultsUnderTest): void {
  const { fixtures, answers, asks } = results;
  const { readResult, expectRequests } = bench;
  const call = aCall();
  const placed = { id: call.id, attempt: 1, providerCallId };
  const read = (record: object, of = placed) => readResult(inTurn(answers(record, placed)), of);
  afterEach(() => void vi.restoreAllMocks());

  it.each(fixtures)("reads $says as $result.status", async ({ record, result }) => {
    const { result: told, received } = await read(record);
    expect(told).toEqual({ ...nothing, ...result });
    expectRequests(received, asks(providerCallId).slice(0, received.length));
    expect(received.map(({ path }) => path).join()).not.toContain("2025550123");
  });

  it("reads an unknown word as an answered call only if the record shows an answer", async () => {
    const free = `Confidential: ${phone}`;
    const { answered, unanswered } = results.unmapped(free);
    const unmapped = { word: null, unmapped: true };
    if (answered !== undefined) {
      expect((await read(answered)).result).toMatchObject({ status: "completed", ...unmapped });
    }
    expect((await read(unanswered)).result).toEqual({
      ...nothing,
      endedAt: expect.toBeOneOf([null, expect.any(Number)]),
      ...unmapped,
      status: "unknown",
    });
  });

  const { proof } = results;
  const unanswered = fixtures.filter(({ result }) => unansweredStatuses.has(result.status));
  if (proof !== undefined)
    it("reads a call that was answered as completed, whatever its record says of the end", async () => {
      for (const { says, record } of unanswered) {
        const { result } = await read({ ...record, ...proof });
        expect(result, says).toMatchObject({ status: "completed", answeredAt: talk.answeredAt });
      }
    });

  it("returns no result if the record is missing, or is another call's or attempt's", async () => {
    const [fixture] = fixtures;
    for (const status of [400, 404, 410, 422]) {
      const { result } = await readResult((_request, response, { length }) => {
        if (length === 1) response.writeHead(status).end("{}");
        else response.end('{"data": []}');
      }, placed);
      expect(result).toBeUndefined();
    }
    for (const other of [
      ...(results.tells.includes("id") ? [{ ...placed, id: aCall().id }] : []),
      ...(results.tells.includes("attempt") ? [{ ...placed, attempt: 2 }] : []),
    ]) {
      expect((await read(fixture?.record ?? {}, other)).result).toBeUndefined();
    }
  });

  it("throws where the provider cannot be asked", async () => {
    const broken: AnswerWith[] = [
      (_request, response) => response.end("<html>welcome</html>"),
      (_request, response) => response.end("null"),
      (_request, response) => response.end("[]"),
      (_request, response) => response.end("{}"),
      (_request, response) => response.end("x".repeat(10_000_000)),
      ...[302, 401, 403, 429, 500, 503].map(
        (status): AnswerWith =>
          (_request, response) =>
            response.writeHead(status, { location: "/other" }).end("{}"),
      ),
      (_request, response) => response.socket?.resetAndDestroy(),
    ];
    for (const answer of broken) {
      const { result, received } = await readResult(answer, placed);
      expect(result).toBeInstanceOf(Error);
      expect(received).toHaveLength(1);
    }
  });

  it("gives each request ten seconds", async () => {
    const limit = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort());
    const { result } = await readResult(() => undefined, placed);
    expect(result).toBeInstanceOf(Error);
    expect(limit.mock.calls).toEqual([[10_000]]);
  });

  it("returns a status and only listed words, whatever the record has", async () => {
    const words = new Set(fixtures.map(({ result }) => result.word ?? null));
    await fc.assert(
      fc.asyncProperty(anyRecord(fixtures), async (record) => {
        const result = await bench.readAnswered(answers(record, placed), placed);
        if (result instanceof Error) expect(result).toBeInstanceOf(z.ZodError);
        if (result === undefined || result instanceof Error) return;
        expect(resultStatuses).toContain(result.status);
        expect(words).toContain(result.word);
        expect(JSON.stringify(result)).not.toMatch(/Confidential|2025550123/);
        const { human, answeredAt, endedAt, seconds } = result;
        expect([true, false, null]).toContain(human);
        for (const value of [answeredAt, endedAt, seconds]) {
          expect(value === null || (Number.isSafeInteger(value) && value >= 0)).toBe(true);
        }
      }),
      { numRuns: perTier({ quick: 30, long: 100 }) },
    );
  });

  if (results.list !== undefined) describeLists(bench, results, results.list);
}

/** Returns records in which some fields have anything. */
function anyRecord(fixtures: ResultFixture[]): fc.Arbitrary<object> {
  const fields = [...new Set(fixtures.flatMap(({ record }) => Object.keys(record)))];
  const known = fixtures.flatMap(({ record }) => Object.values(record));
  const anything = fc.oneof(
    fc.constantFrom<unknown>(phone, 12_025_550_123, "Confidential", "", null, true, {}, [], -1),
    fc.constantFrom<unknown>(...known),
    fc.string(),
    fc.double(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.dictionary(fc.string(), fc.string()),
  );
  const changes = fc.dictionary(fc.constantFrom(...fields), anything);
  return fc
    .tuple(fc.constantFrom(...fixtures), changes)
    .map(([{ record }, changed]) => ({ ...record, ...changed }));
}

/** Start of the period whose calls are listed. */
const from = Date.parse("2026-11-20T23:59:58.500Z");

/** Describes how an adapter lists what became of an account's calls. */
function describeLists(
  { listResults, expectRequests }: ProviderBench,
  { fixtures }: ResultsUnderTest,
  { asks, rowOf, page }: NonNullable<ResultsUnderTest["list"]>,
): void {
  const told = fixtures.filter(({ isListed = true }) => isListed);
  const rows = fixtures.map(({ record }, index) => rowOf(`provider-${index}`, record));
  const expected: ReadonlyMap<string, unknown> = new Map(
    fixtures.flatMap(({ result, isListed = true }, index) =>
      isListed ? [[`provider-${index}`, { ...nothing, ...result }] as const] : [],
    ),
  );

  it("lists the same as it reads one by one, page by page", async () => {
    expect(told.length).toBeGreaterThan(2);
    const half = Math.ceil(rows.length / 2);
    const answers = [page(rows.slice(0, half), true), page(rows.slice(half), false)];
    const { results, received } = await listResults(inTurn(answers), from);
    expect(results).toEqual(expected);
    expectRequests(received, asks(from));
  });

  it("lists nothing where there is nothing", async () => {
    const { results, received } = await listResults(inTurn([page([], false)]), from);
    expect(results).toEqual(new Map());
    expect(received).toHaveLength(1);
  });

  it("reads five pages at most", async () => {
    const { results, received } = await listResults(inTurn([page(rows, true)]), from);
    if (!(results instanceof Map)) throw new Error("nothing was listed");
    expect(results.size).toBeGreaterThan(2);
    for (const [id, result] of results) expect(result).toEqual(expected.get(id));
    expect(received).toHaveLength(5);
  });

  it("throws where the provider cannot be asked", async () => {
    for (const status of [302, 401, 429, 500]) {
      const { results } = await listResults((_request, response) => {
        response.writeHead(status, { location: "/other" }).end("{}");
      }, from);
      expect(results).toBeInstanceOf(Error);
    }
    const text = await listResults((_request, response) => response.end("<html>"), from);
    expect(text.results).toBeInstanceOf(Error);
  });

  it("requests smaller pages if a page is too long, five times at most", async () => {
    const { results, received } = await listResults((_request, response) => {
      response.end("x".repeat(10_000_000));
    }, from);
    expect(results instanceof Error || results?.size === 0).toBe(true);
    expect(received.length).toBeLessThanOrEqual(5);
  });
}
