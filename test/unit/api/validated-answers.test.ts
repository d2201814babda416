import { expect, it } from "vitest";
import { aRequestId } from "#test/support/calls.ts";
import { faultsOf, validated } from "#test/support/validated-answers.ts";

const requestId = aRequestId(Date.now());
const headers = { "content-type": "application/json", "x-request-id": requestId };
const problem = { title: "Not found", status: 404, detail: "There is none." };
const problemHeaders = { ...headers, "content-type": "application/problem+json" };
const usage = {
  from: "2026-11-01",
  to: "2026-11-02",
  read_from: "2026-11-01T00:00:00.000Z",
  rows: [],
  rows_left_out: 0,
  total: { accepted: 1, placed: 1, answered: 1, seconds: 1, cost: [] },
};

interface Given {
  method?: string;
  path?: string;
  status?: number;
  body?: object | string;
  more?: Record<string, string>;
}

it.each<[string, Given, RegExp | undefined]>([
  ["an answer as declared", {}, undefined],
  ["a query beside the path", { path: "/v1/usage?from=2026-11-01" }, undefined],
  ["another status", { status: 202 }, /202 is not declared/],
  ["another method", { method: "POST", status: 200 }, /post \/v1\/usage 200|not answered 405/],
  ["an unknown header", { more: { "x-more": "1" } }, /header x-more is not declared/],
  ["a header of another value", { more: { "cache-control": "public" } }, /header cache-control/],
  ["a malformed request id", { more: { "x-request-id": "1" } }, /header x-request-id/],
  ["another media type", { more: { "content-type": "text/html" } }, /text\/html is not declared/],
  ["no JSON", { body: "{" }, /no JSON/],
  ["a missing field", { body: { ...usage, rows: undefined } }, /rows/],
  ["an unknown field", { body: { ...usage, more: 1 } }, /more/],
  ["an unknown field within", { body: { ...usage, total: { ...usage.total, more: 1 } } }, /more/],
  ["a field of another type", { body: { ...usage, rows_left_out: "0" } }, /rows_left_out/],
  ["a malformed date", { body: { ...usage, from: "yesterday" } }, /from/],
  [
    "a problem",
    { path: "/v1/calls/x", status: 404, body: problem, more: problemHeaders },
    undefined,
  ],
  [
    "a problem as plain JSON",
    { path: "/v1/calls/x", status: 404, body: problem },
    /application\/json is not declared/,
  ],
  [
    "a problem without a title",
    { path: "/v1/calls/x", status: 404, body: { status: 404 }, more: problemHeaders },
    /title/,
  ],
  ["a body where there is none", { path: "/v1/calls", method: "POST", status: 201 }, /has a body/],
  ["a path that no document names", { path: "/other", status: 299 }, undefined],
])("compares with the OpenAPI documents: %s", async (_name, given, fault) => {
  const { method = "GET", path = "/v1/usage", status = 200, body = usage, more = {} } = given;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = new Response(text, { status, headers: { ...headers, ...more } });
  const faults = await faultsOf({ method, path }, response.clone());
  if (fault === undefined) expect(faults).toEqual([]);
  else expect(faults.join("; ")).toMatch(fault);
  const api = validated({ request: async (_path: string, _init?: RequestInit) => response });
  const asked = api.request(path, { method });
  if (fault === undefined) expect(await (await asked).text()).toBe(text);
  else await expect(asked).rejects.toThrow(fault);
});
