import * as fc from "fast-check";
import { nested } from "./nested.ts";

/** The expected status of a request. */
export type Expected = 201 | 401 | 422;

/** Text in every context value, and in keys that are no field names: no answer and no log may contain it. */
export const secretMark = "hush hush";

/** A member of an object, with its value as JSON: a JavaScript object can hold neither duplicates nor `__proto__`. */
type Member = readonly [key: string, json: string];

const json = (value: unknown): string => JSON.stringify(value);
export const objectOf = (
  members: readonly Member[],
  quote: (key: string) => string = json,
): string => `{${members.map(([key, value]) => `${quote(key)}:${value}`).join(",")}}`;
const escaped = (text: string): string =>
  `"${Array.from(text, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;

const without = (members: readonly Member[], name: string) =>
  members.filter(([key]) => key !== name);

/** Returns the worst status: the token is checked first, and one error is enough. */
export function worstOf(...all: Expected[]): Expected {
  if (all.includes(401)) return 401;
  return all.includes(422) ? 422 : 201;
}

export const anyOf = <T>(...lists: T[][]): fc.Arbitrary<T> => fc.constantFrom(...lists.flat());

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
export const rightCall = fc
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
    ["+33123456789", "+881612345678", right.repeat(2000), "+1e10", "+0x14155550123"],
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

export interface Element {
  json: string;
  expected: Expected;
}

const isWrong = (text: string): Element => ({ json: text, expected: 422 });
export const isRight = (text: string): Element => ({ json: text, expected: 201 });
const rightAndWrongValue = fc
  .tuple(rightCall, field)
  .chain(([members, name]) =>
    wrongValues[name].map((value) => ({ members, wrong: [name, value] as const })),
  );

/** A call with one error. */
export const wrongCall = fc.oneof(
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
export const unusualCall = fc.oneof(
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
