import * as fc from "fast-check";
import {
  type Element,
  type Expected,
  isRight,
  objectOf,
  rightCall,
  unusualCall,
  worstOf,
  wrongCall,
} from "./arbitrary-calls.ts";

/** A body of one of the two routes. */
export interface Body {
  path: "/v1/calls" | "/v1/calls/batch";
  /** Bytes if the body is not valid text. */
  body: string | Uint8Array;
  expected: Expected;
}

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

export const rightBody = fc.oneof(
  unusualCall.map(single),
  fc.array(unusualCall, { minLength: 1, maxLength: 8 }).map(batch),
  fc
    .tuple(rightCall, fc.integer({ min: 100, max: 400 }))
    .map(([members, times]) => batch(Array(times).fill(isRight(objectOf(members))))),
);
export const wrongBody = fc.oneof(
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

export const rewrittenBody = fc
  .tuple(
    rightBody,
    fc.constantFrom(...rewritings),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  )
  .map(([{ path, body, expected }, [rewrite, verdict], place]): Body => {
    return { path, body: rewrite(body, place), expected: worstOf(expected, verdict) };
  });
export const bytesBody = fc
  .tuple(fc.constantFrom("/v1/calls", "/v1/calls/batch"), fc.uint8Array({ maxLength: 40 }))
  .map(([path, body]): Body => ({ path, body, expected: 422 }));
