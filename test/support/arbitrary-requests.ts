import * as fc from "fast-check";
import { type Body, bytesBody, rewrittenBody, rightBody, wrongBody } from "./arbitrary-bodies.ts";
import { anyOf, type Expected, worstOf } from "./arbitrary-calls.ts";
import { tokens } from "./environment.ts";

/** A request to one of the two routes, as it goes over the wire. */
export interface PostedRequest extends Body {
  headers: Record<string, string>;
}

/** A request, and the client's next request under the same headers. */
export interface Posting extends PostedRequest {
  /** Prefix of its Idempotency-Key. The poster completes it so that no two postings share a key. */
  keyPrefix: string | undefined;
  next: "nothing" | "the same" | "other bytes" | "the other path";
}

type Header = readonly [value: string | undefined, expected: Expected];

const rightAuthorization = fc
  .tuple(
    fc.constantFrom("Bearer ", "bearer ", "BEARER    "),
    fc.constantFrom(tokens.crm, tokens.crmRotated, tokens.shop),
  )
  .map((words): Header => [words.join(""), 201]);
const wrongAuthorization = anyOf(
  [undefined, "", "Bearer", "Bearer  ", tokens.crm, `Basic ${tokens.crm}`, "Bearer oc_nobody"],
  [`Bearer ${tokens.ended}`, `Bearer ${tokens.operator}`, `Bearer ${tokens.crm}x`],
  [`Bearer ${tokens.crm.slice(0, -1)}`, `Bearer ${tokens.crm.toUpperCase()}`],
  [`Bearer ${tokens.crm}, Bearer ${tokens.crm}`, `Bearer "${tokens.crm}"`, "Bearer __proto__"],
  [`Bearer\t${tokens.crm}`, `Bearer=${tokens.crm}`, `Bearer ${"a".repeat(4000)}`],
  [`Bearer ${tokens.crm}=`, `X Bearer ${tokens.crm}`, `Digest username="${tokens.crm}"`],
).map((value): Header => [value, 401]);
const authorization = fc.oneof(
  { weight: 18, arbitrary: rightAuthorization },
  { weight: 1, arbitrary: fc.constant<Header>([`Bearer ${tokens.salesOnly}`, 201]) },
  { weight: 2, arbitrary: wrongAuthorization },
);
const contentType = fc.oneof(
  {
    weight: 25,
    arbitrary: anyOf(
      ["application/json", "APPLICATION/json", "application/json; charset=utf-8"],
      ['application/json;charset="UTF-8"', "application/json ;  charset=Utf-8 "],
      ["application/json;\tcharset=utf-8"],
    ).map((value): Header => [value, 201]),
  },
  {
    weight: 1,
    arbitrary: anyOf(
      [undefined, "", "text/plain", "application/jsonp", "application/json;", "text/json"],
      ["application/json, application/json", "application/json; charset=utf-16", "json", "*/*"],
      ["application/json; charset=utf-8; q=1", "application/x-www-form-urlencoded"],
      ["multipart/form-data; boundary=x", "text/html, application/json"],
    ).map((value): Header => [value, 422]),
  },
);
const contentEncoding = fc.oneof(
  { weight: 30, arbitrary: fc.constant<Header>([undefined, 201]) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("gzip", "br", "identity", "", "gzip, gzip", "x")
      .map((value): Header => [value, 422]),
  },
);
const wrongKey = fc
  .constantFrom("", " ", "a, a", "a,a", "k".repeat(256), "k\tk", "\t", "\u007f", "k".repeat(9000))
  .map((value): Header => [value, 422]);
const keyPrefix = anyOf([
  "",
  "'; DROP TABLE keys; --",
  '{"$ne":1}',
  "__proto__",
  "%00",
  "../",
  "a; a",
  "k".repeat(200),
]);

/** A request to either route: about half of them are valid, the others have some error. */
export const arbitraryPosting: fc.Arbitrary<Posting> = fc
  .record({
    body: fc.oneof(
      { weight: 14, arbitrary: rightBody },
      { weight: 10, arbitrary: wrongBody },
      { weight: 3, arbitrary: rewrittenBody },
      { weight: 1, arbitrary: bytesBody },
    ),
    authorization,
    contentType,
    contentEncoding,
    key: fc.oneof(
      { weight: 10, arbitrary: fc.record({ prefix: fc.constant(undefined) }) },
      { weight: 10, arbitrary: fc.record({ prefix: keyPrefix }) },
      { weight: 1, arbitrary: fc.record({ wrong: wrongKey }) },
    ),
    next: anyOf<Posting["next"]>([
      "nothing",
      "nothing",
      "nothing",
      "the same",
      "other bytes",
      "the other path",
    ]),
  })
  .map(({ body: { path, body, expected }, key, next, ...named }) => {
    const [wrong, keyExpected] = "wrong" in key ? key.wrong : [undefined, 201 as const];
    const all: Record<string, Header> = {
      authorization: named.authorization,
      "content-type": named.contentType,
      "content-encoding": named.contentEncoding,
      "idempotency-key": [wrong, keyExpected],
    };
    const headers: Record<string, string> = {};
    for (const [name, [value]] of Object.entries(all)) {
      if (value !== undefined) headers[name] = value;
    }
    const salesOnly = headers["authorization"]?.endsWith(tokens.salesOnly) ?? false;
    const agentExpected =
      salesOnly && typeof body === "string" && body.includes("agent_support") ? 422 : 201;
    return {
      path,
      headers,
      body,
      expected: worstOf(expected, agentExpected, ...Object.values(all).map(([, one]) => one)),
      keyPrefix: "prefix" in key ? key.prefix : undefined,
      next,
    };
  });
