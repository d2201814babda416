import { secretMark } from "../support/arbitrary-calls.ts";
import type { PostedRequest } from "../support/arbitrary-requests.ts";
import { tokens } from "../support/environment.ts";
import { nested } from "../support/nested.ts";

/** Larger than any valid answer: a hundred errors, each with a key of a hundred escaped characters and a sentence. */
export const answerBytesMax = 80 * 1024;

/** A request that was once answered wrongly, or is likely to be. */
export interface HostileRequest extends PostedRequest {
  name: string;
}

const number = "+14155550123";
const required = `"phone_number":"${number}","agent_id":"agent_sales"`;
const right = `{${required}}`;
const headers = {
  authorization: `Bearer ${tokens.crm}`,
  "content-type": "application/json",
};
const withField = (member: string): string => `{${required},${member}}`;
const withContext = (members: string): string => withField(`"context":{${members}}`);
const bytesOf = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(
    parts.flatMap((part) =>
      typeof part === "string" ? [...new TextEncoder().encode(part)] : part,
    ),
  );

/** Returns a call alone, and within a batch of valid calls. */
function asBoth(name: string, call: string, expected: 201 | 422): HostileRequest[] {
  return [
    { name, path: "/v1/calls", body: call, headers, expected },
    {
      name: `${name}, in a batch`,
      path: "/v1/calls/batch",
      body: `[${right},${call},${right}]`,
      headers,
      expected,
    },
  ];
}

/** Returns a body, unchanged, for both routes. */
function toBoth(name: string, body: string | Uint8Array, more: object = {}): HostileRequest[] {
  const request = { body, headers: { ...headers, ...more }, expected: 422 as const };
  return [
    { name, path: "/v1/calls", ...request },
    { name: `${name}, as a batch`, path: "/v1/calls/batch", ...request },
  ];
}

/** Returns a valid call under headers that decide the status. */
function under(name: string, more: Record<string, string>, expected: 201 | 401 | 422) {
  const request = { headers: { ...headers, ...more }, expected };
  return [
    { name, path: "/v1/calls" as const, body: right, ...request },
    { name: `${name}, a batch`, path: "/v1/calls/batch" as const, body: `[${right}]`, ...request },
  ];
}

/**
 * Requests, each with its expected status on every platform. Findings of the fuzzer are added here before
 * they are fixed.
 */
export const hostileRequests: HostileRequest[] = [
  // A key may contain a phone number, in any notation. Only a pointer to its entry may repeat it.
  ...asBoth("a context key that is a number with dashes", withContext('"_1-415-555-0199":1'), 422),
  ...asBoth("a context key with a number in it", withContext('"tel_415_555_0199":null'), 422),
  ...asBoth("a field whose name is a number with dashes", withField('"tel-415-555-0199":""'), 422),
  ...asBoth("a context key that is a number", withContext('"+14155550199":1'), 422),
  // A tab may stand between a media type and its parameter (RFC 9110, 5.6.3).
  ...under(
    "a tab in the content type",
    { "content-type": "application/json;\tcharset=utf-8" },
    201,
  ),
  ...under("a tab in the key", { "idempotency-key": "k\tk" }, 422),
  ...under("a tab for a space before the token", { authorization: `Bearer\t${tokens.crm}` }, 401),

  // Names that every JavaScript object has.
  ...asBoth("a context key __proto__", withContext(`"__proto__":"${secretMark}"`), 422),
  ...asBoth("an escaped context key __proto__", withContext('"\\u005f_proto__":"x"'), 422),
  ...asBoth("an object at __proto__ in the context", withContext('"__proto__":{"a":"b"}'), 422),
  ...asBoth("a context that is __proto__ twice", withContext('"__proto__":1,"__proto__":""'), 422),
  ...asBoth("a field __proto__ with the required fields", `{"__proto__":${right}}`, 422),
  ...asBoth("a field __proto__ beside them", withField('"__proto__":{"timezone":"UTC"}'), 422),
  ...asBoth(
    "context keys that objects have as methods",
    withContext('"constructor":"a","toString":"b","hasOwnProperty":"c","toJSON":"d","then":"e"'),
    201,
  ),
  ...asBoth("a field constructor", withField('"constructor":{"prototype":{"a":1}}'), 422),
  ...asBoth("an agent __proto__", right.replace("agent_sales", "__proto__"), 422),
  ...asBoth("a time zone constructor", withField('"timezone":"constructor"'), 422),

  // Duplicate fields: the last one counts, and is the one that is checked.
  ...asBoth("a wrong number before the right one", `{"phone_number":null,${required}}`, 201),
  ...asBoth("a wrong number after the right one", withField('"phone_number":"911"'), 422),
  ...asBoth("a denied number after the right one", withField('"phone_number":"+19005550199"'), 422),
  ...asBoth("an escaped name of a field there is", withField('"phone\\u005fnumber":"911"'), 422),

  // Text.
  ...asBoth("an unpaired surrogate", withContext(`"a":"${secretMark}\\ud800"`), 422),
  ...asBoth("surrogates the wrong way round", withContext('"a":"\\udc00\\ud800"'), 422),
  ...asBoth("an unpaired surrogate in a key", withContext(`"${secretMark}\\udfff":""`), 422),
  ...asBoth("an unpaired surrogate in a field's name", withField('"a\\ud800":""'), 422),
  ...asBoth("a pair of surrogates", withContext('"\\ud83d\\ude00":"\\ud83d\\ude00"'), 201),
  ...asBoth("noncharacters", withContext('"\\ufffe":"\\uffff\\udbff\\udfff"'), 201),
  ...asBoth("NUL and other controls", withContext('"\\u0000":"\\u0000\\u001f\\u007f\\u0085"'), 201),
  ...asBoth("text that changes direction", withContext('"\\u202ea":"\\u2066b\\u202c\\u200f"'), 201),
  ...asBoth("line and paragraph separators", withContext('"\u2028":"\u2029"'), 201),
  ...asBoth("a number after a mark of direction", right.replace("+1", "\\u200e+1"), 422),
  ...asBoth("a number with a NUL", right.replace("0123", "0123\\u0000"), 422),
  ...asBoth(
    "a number in fullwidth digits",
    right.replace("4155550123", "４１５５５５０１２３"),
    422,
  ),
  ...asBoth("an agent with a zero-width space", right.replace("sales", "sales\\u200b"), 422),
  ...asBoth("an agent with a Cyrillic letter", right.replace("agent_s", "agent_ѕ"), 422),
  ...asBoth("an offset with a minus sign of print", withField('"timezone":"\u221205:00"'), 422),
  ...asBoth("an offset in other digits", withField('"timezone":"+٠٥:٣٠"'), 422),
  ...asBoth("a time zone with a NUL", withField('"timezone":"UTC\\u0000"'), 422),
  ...asBoth("a time zone that is a path", withField('"timezone":"../../etc/localtime"'), 422),

  // Values.
  ...asBoth("1e400 for a number", right.replace(`"${number}"`, "1e400"), 422),
  ...asBoth("-0 for a number", right.replace(`"${number}"`, "-0"), 422),
  ...asBoth("a number in an array", right.replace(`"${number}"`, `["${number}"]`), 422),
  ...asBoth("an object with its own toString", withContext('"a":{"toString":null}'), 422),
  ...asBoth("an object that looks like an array", withField('"context":{"length":1,"0":[]}'), 422),
  ...asBoth("a value nested 9000 deep", withContext(`"a":${nested(9000)}`), 422),
  ...asBoth("objects nested 9000 deep", withField(`"x":${nested(9000, '{"a":', "}", "1")}`), 422),
  ...asBoth("5000 fields alike", withField(Array(5000).fill(`"f":1`).join(",")), 422),
  ...asBoth("a context of 5000 keys alike", withContext(Array(5000).fill('"a":""').join(",")), 201),
  ...asBoth("a time zone of 60,000 letters", withField(`"timezone":"${"x".repeat(60_000)}"`), 422),
  ...asBoth("an agent of 60,000 letters", right.replace("sales", "x".repeat(60_000)), 422),
  ...asBoth("60,000 digits", right.replace("0123", "0123".repeat(15_000)), 422),

  // Bodies.
  ...toBoth("no body", ""),
  ...toBoth("a body of NULs", "\0".repeat(100)),
  ...toBoth("a comma too many", `[${right},]`),
  ...toBoth("a body cut off in a string", `[{"phone_number":"${number}`),
  ...toBoth("a body cut off in an escape", '[{"phone_number":"\\u00'),
  ...toBoth(
    "a line break in a string",
    `[{"phone_number":"${number}\n","agent_id":"agent_sales"}]`,
  ),
  ...toBoth("two bodies", `${right}\n${right}`),
  ...toBoth("a comment", `[${right}/* */]`),
  ...toBoth("two byte order marks", `\ufeff\ufeff[${right}]`),
  ...toBoth(
    "UTF-16",
    bytesOf([0xff, 0xfe], Array.from(right, (one) => [one.charCodeAt(0), 0]).flat()),
  ),
  ...toBoth("a surrogate as UTF-8", bytesOf('["', [0xed, 0xa0, 0x80], '"]')),
  ...toBoth("overlong UTF-8", bytesOf('["', [0xc0, 0xaf], '"]')),
  ...toBoth("a code point past the last", bytesOf('["', [0xf4, 0x90, 0x80, 0x80], '"]')),
  ...toBoth("Latin-1", bytesOf('[{"agent_id":"caf', [0xe9], '"}]')),
  ...toBoth("30,000 brackets that never close", "[".repeat(30_000)),
  ...toBoth("compressed bytes", bytesOf([0x1f, 0x8b, 8, 0]), { "content-encoding": "gzip" }),
  ...toBoth("a form", `phone_number=${encodeURIComponent(number)}&agent_id=agent_sales`),
  { name: "a byte order mark", path: "/v1/calls", body: `\ufeff${right}`, headers, expected: 201 },
  {
    name: "a byte order mark, a batch",
    path: "/v1/calls/batch",
    body: bytesOf([0xef, 0xbb, 0xbf], `[${right}]`),
    headers,
    expected: 201,
  },
  {
    name: "a batch in a batch",
    path: "/v1/calls/batch",
    body: `[[${right}]]`,
    headers,
    expected: 422,
  },
  {
    name: "an object that looks like a batch",
    path: "/v1/calls/batch",
    body: `{"0":${right},"length":1}`,
    headers,
    expected: 422,
  },
  {
    name: "a batch whose last call is wrong",
    path: "/v1/calls/batch",
    body: `[${`${right},`.repeat(999)}{}]`,
    headers,
    expected: 422,
  },
  {
    name: "a batch whose first call is null",
    path: "/v1/calls/batch",
    body: `[null${`,${right}`.repeat(999)}]`,
    headers,
    expected: 422,
  },
  {
    name: "half a million wrong values",
    path: "/v1/calls/batch",
    body: `[0${",0".repeat(500_000)}]`,
    headers,
    expected: 422,
  },
  {
    name: "a batch two million deep",
    path: "/v1/calls/batch",
    body: nested(2_000_000),
    headers,
    expected: 422,
  },

  // Headers.
  ...under("two content types", { "content-type": "application/json, application/json" }, 422),
  ...under("a content type in UTF-16", { "content-type": "application/json; charset=utf-16" }, 422),
  ...under("an empty content encoding", { "content-encoding": "" }, 422),
  ...under("an operator's token", { authorization: `Bearer ${tokens.operator}` }, 401),
  ...under(
    "the token without its end",
    { authorization: `Bearer ${tokens.crm.slice(0, -1)}` },
    401,
  ),
  ...under("the token, padded", { authorization: `Bearer ${tokens.crm}=` }, 401),
  ...under("the token in quotes", { authorization: `Bearer "${tokens.crm}"` }, 401),
  ...under("a token that objects have", { authorization: "Bearer __proto__" }, 401),
  ...under("a key that is not ASCII", { "idempotency-key": "k\u00e9" }, 422),
  ...under("a key of a space alone", { "idempotency-key": " " }, 422),
];
