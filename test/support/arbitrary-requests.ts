import * as fc from "fast-check";
import { tokens } from "./environment.ts";
import { nested } from "./nested.ts";

/** The expected status of a request. */
export type Expected = 201 | 401 | 422;

/** A request to one of the two routes, as it goes over the wire. */
export interface PostedRequest {
  path: "/v1/calls" | "/v1/calls/batch";
  headers: Record<string, string>;
  /** Bytes if the body is not valid text. */
  body: string | Uint8Array;
  expected: Expected;
}

/** A request, and the client's next request under the same headers. */
export interface Posting extends PostedRequest {
  /** Prefix of its Idempotency-Key. The poster completes it so that no two postings share a key. */
  keyPrefix: string | undefined;
  next: "nothing" | "the same" | "other bytes" | "the other path";
}

/** Text in every context value, and in keys that are no field names: no answer and no log may contain it. */
export const secretMark = "hush hush";

/** A member of an object, with its value as JSON: a JavaScript object can hold neither duplicates nor `__proto__`. */
type Member = readonly [key: string, json: string];

const json = (value: unknown): string => JSON.stringify(value);
const objectOf = (members: readonly Member[], quote: (key: string) => string = json): string =>
  `{${members.map(([key, value]) => `${quote(key)}:${value}`).join(",")}}`;
const escaped = (text: string): string =>
  `"${Array.from(text, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;

const without = (members: readonly Member[], name: string) =>
  members.filter(([key]) => key !== name);

/** Returns the worst status: the token is checked first, and one error is enough. */
function worstOf(...all: Expected[]): Expected {
  if (all.includes(401)) return 401;
  return all.includes(422) ? 422 : 201;
}

const anyOf = <T>(...lists: T[][]): fc.Arbitrary<T> => fc.constantFrom(...lists.flat());

// ---- Calls ----

const unusualTexts = [
  "",
  "\0",
  "\u0000\u0001\u001f\u007f\u0085",
  "\u202eresrever\u202c\u2066\u2069\u200f",
  "\u200b\u200d\u2060\ufeff",
  "\u2028\u2029",
  "\ufffe\uffff\u{1fffe}\u{10ffff}",
  "e\u0301\u0327\u0340 \u1100\u1161\u11a8 ﷺ",
  "\u{1f469}\u200d\u{1f467} \u{1f3f4}\u{e0067}\u{e0062}\u{e007f}",
  "\"\\/\b\f\n\r\t</Stream><!--'; DROP TABLE calls; --",
  "${7*7}{{7*7}}%s%n%00..\\..\\",
];
/** Any code point except surrogates; fast-check's own generator of them takes 80 MB. */
const codePoint = fc
  .integer({ min: 0, max: 0x10_f7ff })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));
const secretText = fc
  .oneof(fc.constantFrom(...unusualTexts), fc.string({ unit: codePoint, maxLength: 12 }))
  .map((text) => secretMark + text);
const contextKey = fc.oneof(
  anyOf(
    ["first_name", "", "0", "-1", "length", "constructor", "prototype", "toString", "valueOf"],
    ["hasOwnProperty", "__defineGetter__", "__lookupSetter__", "toJSON", "then", "__proto"],
  ),
  secretText,
);
const number = fc.oneof(
  fc
    .tuple(fc.constantFrom("212", "312", "415", "604"), fc.integer({ min: 100, max: 199 }))
    .map(([area, line]) => `+1${area}5550${line}`),
  fc.integer({ min: 100, max: 999 }).map((line) => `+447700900${line}`),
);
const timezone = anyOf(
  ["America/New_York", "europe/london", "UTC", "Z", "+05:45", "-12:00", "+14:00", "-00:00"],
  ["Etc/GMT+5", "US/EASTERN", "GB", "Asia/Calcutta", "America/Argentina/ComodRivadavia"],
);
const context = fc
  .array(fc.tuple(contextKey, secretText.map(json)), { maxLength: 5 })
  .map((members) => objectOf(members));

/** Valid fields of a call in any order, with or without the optional ones. */
const rightCall = fc
  .record({
    phone_number: number.map(json),
    agent_id: fc.constantFrom("agent_sales", "agent_support").map(json),
    context: fc.option(context, { nil: undefined }),
    timezone: fc.option(timezone.map(json), { nil: undefined }),
  })
  .chain((fields) => {
    const members: Member[] = [];
    for (const [key, value] of Object.entries(fields)) {
      if (value !== undefined) members.push([key, value]);
    }
    return fc.shuffledSubarray(members, { minLength: members.length });
  });

const depth = fc.constantFrom(1, 60, 3000, 10_000);
/** Values that are neither strings nor objects of strings. */
const wrongTyped = fc.oneof(
  anyOf(
    ["null", "true", "0", "-0", "1e400", "-1e400", "1E-400", "14155550123", "[]", "[[]]"],
    ['{"toString":null}', '{"__proto__":null}', '{"length":5,"0":"+"}', '["+14155550123"]'],
  ),
  depth.map((levels) => nested(levels)),
  depth.map((levels) => nested(Math.min(levels, 7000), '{"a":', "}", "1")),
  secretText.map((text) => json([text])),
);
const malformedTexts = ['"\\ud800"', `"${secretMark}\\udfff\\ud800"`, '"\\ud83d"'];

/** Near misses of an E.164 number, and numbers that nobody may call. */
const wrongNumber = number.chain((right) => {
  const digits = right.slice(1);
  return anyOf(
    [digits, `00${digits}`, `+${right}`, `+0${digits}`, `${right}01234`, right.slice(0, 7)],
    [`${right}\n`, `\t${right}`, ` ${right}`, `${right} `, `${right},,1`, `${right};ext=1`],
    [`tel:${right}`, `${right}\0`, `\u200e${right}`, `${right}\u202c`, `\ufeff${right}`],
    [`＋${digits}`, `${right}٣`, `+${digits.replaceAll("0", "０")}`, right.replace("0", "0 ")],
    [`${digits.slice(0, 4)}-${digits.slice(4)}`, `+(${digits})`, `${right}/../${right}`],
    ["+", "", "+1", "anonymous", "*67", "911", "+19005550123", "+18765550123", "+5305555555"],
    ["+33123456789", "+88161234567", right.repeat(2000), "+1e10", "+0x14155550123"],
  );
});
const wrongAgent = anyOf(
  ["", "*", "agent_x", "__proto__", "constructor", "toString", "agent_sales ", " agent_sales"],
  ["AGENT_SALES", "agent_sales\0", "agent_sales\n", "agent_sales\u200b", "agent_ѕales"],
  ["\u202eselas_tnega", "a".repeat(129), "a".repeat(40_000), "agent_sales,agent_sales"],
);
const wrongTimezone = anyOf(
  ["", "America/New_Yrok", "America/New_York ", "America/New York", "America//New_York"],
  ["America", "America/", "../UTC", "Mars/Olympus", "UTC+3", "GMT+25", "UTC\0", "ＵＴＣ", "ＺZ"],
  ["+0530", "+5:30", "+05:60", "+14:01", "-12:01", "+24:00", "\u221205:00", "05:30", "+05:30 "],
  ["+05:30:00", "+٠٥:٣٠", "z", "__proto__", "constructor", "5", "EST5EDT,M3.2.0", "x".repeat(9000)],
);
const wrongEntry = fc.oneof(
  fc.tuple(contextKey, wrongTyped),
  fc.tuple(contextKey, fc.constantFrom(...malformedTexts)),
  fc.constantFrom(json(secretMark), "{}").map((value): Member => ["__proto__", value]),
  fc.constantFrom("\ud800", `${secretMark}\udc00`).map((key): Member => [key, '""']),
  // A key may contain somebody's number, in any notation.
  number
    .chain((right) => anyOf([right, right.slice(1), grouped(right, "-"), grouped(right, "_")]))
    .map((key): Member => [key, "1"]),
);
const wrongContext = fc.oneof(
  wrongTyped,
  fc.constant(json(secretMark)),
  fc.constant(objectOf(Array.from({ length: 101 }, (_, n): Member => [`k${n}`, '""']))),
  fc.constant(objectOf([["long", json(secretMark.repeat(4000))]])),
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.array(fc.tuple(contextKey, secretText.map(json)), { maxLength: 3 }), wrongEntry)
      .map(([right, wrong]) => objectOf([...without(right, wrong[0]), wrong])),
  },
);
const wrongText = fc.oneof(wrongTyped, fc.constantFrom(...malformedTexts));
const wrongValues = {
  phone_number: fc.oneof(wrongNumber.map(json), wrongText),
  agent_id: fc.oneof(wrongAgent.map(json), wrongText),
  timezone: fc.oneof(wrongTimezone.map(json), wrongText),
  context: wrongContext,
};
const field = fc.constantFrom("phone_number", "agent_id", "timezone", "context", "context");
const anyValue = fc.oneof(wrongTyped, secretText.map(json));
const unknownField = fc.oneof(
  anyOf(
    ["time_zone", "Phone_Number", "phone_number ", "phone_number\0", "agentId", "", "0", "id"],
    ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "toJSON", "then"],
    ["agent_id\u200b", "\ufeffcontext", "х".repeat(50), "x".repeat(5000), "tοtal"],
  ),
  number,
  number.map((right) => grouped(right, "-")),
  number.map((right) => grouped(right, "_")),
  secretText,
);

/** Formats a number like a field's name: `tel_1_415_555_0123`. */
function grouped(right: string, by: string): string {
  return ["tel", ...(right.match(/\d{1,3}/g) ?? [])].join(by);
}

interface Element {
  json: string;
  expected: Expected;
}

const isWrong = (text: string): Element => ({ json: text, expected: 422 });
const isRight = (text: string): Element => ({ json: text, expected: 201 });
const rightAndWrongValue = fc
  .tuple(rightCall, field)
  .chain(([members, name]) =>
    wrongValues[name].map((value) => ({ members, wrong: [name, value] as const })),
  );

/** A call with one error. */
const wrongCall = fc.oneof(
  {
    weight: 4,
    arbitrary: rightAndWrongValue.map(({ members, wrong }) =>
      isWrong(objectOf([...without(members, wrong[0]), wrong])),
    ),
  },
  // The last of duplicate fields counts.
  {
    weight: 1,
    arbitrary: rightAndWrongValue.map(({ members, wrong }) =>
      isWrong(objectOf([...members, wrong])),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(rightCall, fc.constantFrom("phone_number", "agent_id"))
      .map(([members, name]) => isWrong(objectOf(without(members, name)))),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(rightCall, unknownField, anyValue, fc.nat({ max: 4 }))
      .map(([members, name, value, at]) =>
        isWrong(objectOf(members.toSpliced(at, 0, [name, value]))),
      ),
  },
  { weight: 1, arbitrary: fc.oneof(anyValue, fc.json()).map(isWrong) },
);

/** A valid call, however unusual. */
const unusualCall = fc.oneof(
  rightCall.map((members) => isRight(objectOf(members))),
  rightCall.map((members) => isRight(objectOf(members, escaped))),
  rightCall.map((members) =>
    isRight(JSON.stringify(JSON.parse(objectOf(members)), undefined, "\t \r\n")),
  ),
  // The last of duplicate fields counts.
  rightAndWrongValue.map(({ members, wrong }) =>
    isRight(objectOf(members.some(([key]) => key === wrong[0]) ? [wrong, ...members] : members)),
  ),
);

// ---- Bodies ----

type Body = Pick<PostedRequest, "path" | "body" | "expected">;

const single = (element: Element) => ({
  path: "/v1/calls" as const,
  body: element.json,
  expected: element.expected,
});
const batch = (elements: readonly Element[]) => ({
  path: "/v1/calls/batch" as const,
  body: `[${elements.map((element) => element.json).join(",")}]`,
  expected: worstOf(...elements.map(({ expected }) => expected)),
});

const rightBody = fc.oneof(
  unusualCall.map(single),
  fc.array(unusualCall, { minLength: 1, maxLength: 8 }).map(batch),
  fc
    .tuple(rightCall, fc.integer({ min: 100, max: 400 }))
    .map(([members, times]) => batch(Array(times).fill(isRight(objectOf(members))))),
);
const wrongBody = fc.oneof(
  { weight: 6, arbitrary: wrongCall.map(single) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.array(unusualCall, { maxLength: 8 }), wrongCall, fc.nat({ max: 8 }))
      .map(([calls, wrong, at]) => batch(calls.toSpliced(at, 0, wrong))),
  },
  { weight: 2, arbitrary: fc.array(wrongCall, { minLength: 2, maxLength: 40 }).map(batch) },
  {
    weight: 1,
    arbitrary: unusualCall.map((call): Body => ({
      ...batch([call]),
      path: "/v1/calls",
      expected: 422,
    })),
  },
  {
    weight: 1,
    arbitrary: unusualCall.map((call): Body => ({
      ...single(call),
      path: "/v1/calls/batch",
      expected: 422,
    })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom("/v1/calls", "/v1/calls/batch"),
        fc.oneof(fc.json(), fc.constantFrom("[]", "", "{}", "[null]", "[[]]", '""')),
      )
      .map(([path, body]): Body => ({ path, body, expected: 422 })),
  },
);

/** Sequences that are invalid in UTF-8: overlong, surrogates, too large, cut off, lone bytes. */
const invalidUtf8 = [
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
  [0x80],
  [0xff],
];
const utf8 = new TextEncoder();
const utf16 = (text: string, littleEndian: boolean): Uint8Array => {
  const bytes = new DataView(new ArrayBuffer(text.length * 2));
  for (let at = 0; at < text.length; at++)
    bytes.setUint16(at * 2, text.charCodeAt(at), littleEndian);
  return new Uint8Array(bytes.buffer);
};
/** Changes to JSON as text, each with the status that a valid body then gets; `place` is from 0 to below 1. */
const rewritings: [(text: string, place: number) => string | Uint8Array, Expected][] = [
  // A byte order mark is ignored, as RFC 8259 permits.
  [(text) => `\ufeff${text}`, 201],
  [(text) => ` \t\r\n${text}\n`, 201],
  [(text) => text.slice(0, -1), 422],
  [(text, place) => text.slice(0, Math.floor(text.length * place)), 422],
  [(text) => text.replace(/([\]}])$/, ",$1"), 422],
  [(text) => `${text},`, 422],
  [(text) => `${text}${text}`, 422],
  [(text) => `${text}\0`, 422],
  [(text) => `\u00a0${text}`, 422],
  [(text) => `\ufeff\ufeff${text}`, 422],
  [(text) => `)]}',\n${text}`, 422],
  [(text) => `${text}//`, 422],
  [(text) => `/**/${text}`, 422],
  [(text) => text.replaceAll('"', "'"), 422],
  [(text) => text.replace('"', '"\n'), 422],
  [(text) => text.replace('"', '"\\x'), 422],
  [(text) => text.replace(":", ":NaN,"), 422],
  [(text) => text.replace(":", "="), 422],
  [(text) => encodeURIComponent(text), 422],
  [(text) => `{"a":${text}}`, 422],
  [(text) => utf16(text, true), 422],
  [(text) => utf16(`\ufeff${text}`, false), 422],
  ...invalidUtf8.map((wrong): [(text: string, place: number) => Uint8Array, Expected] => [
    (text, place) => {
      const bytes = utf8.encode(text);
      const before = Math.floor(bytes.length * place);
      return Uint8Array.from([...bytes.subarray(0, before), ...wrong, ...bytes.subarray(before)]);
    },
    422,
  ]),
];

const rewrittenBody = fc
  .tuple(
    rightBody,
    fc.constantFrom(...rewritings),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  )
  .map(([{ path, body, expected }, [rewrite, verdict], place]): Body => {
    return { path, body: rewrite(body, place), expected: worstOf(expected, verdict) };
  });
const bytesBody = fc
  .tuple(fc.constantFrom("/v1/calls", "/v1/calls/batch"), fc.uint8Array({ maxLength: 40 }))
  .map(([path, body]): Body => ({ path, body, expected: 422 }));

// ---- Headers ----

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
  .constantFrom("", " ", "k".repeat(256), "k\tk", "\t", "\u007f", "k".repeat(9000))
  .map((value): Header => [value, 422]);
const keyPrefix = anyOf([
  "",
  "'; DROP TABLE keys; --",
  '{"$ne":1}',
  "__proto__",
  "%00",
  "../",
  "a, a",
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
