import * as fc from "fast-check";

/**
 * Any character, and surrogates that stand alone: the unit of texts that may hold anything. fast-check's own, `binary`, first
 * makes a table of all of Unicode, which takes a second.
 */
export const anyCharacter = fc.oneof(
  fc.integer({ min: 0, max: 0xff_ff }).map((unit) => String.fromCharCode(unit)),
  fc.integer({ min: 0x1_00_00, max: 0x10_ff_ff }).map((point) => String.fromCodePoint(point)),
  fc.integer({ min: 0, max: 0x7f }).map((unit) => String.fromCharCode(unit)),
);

/** Any text that a context may hold, in at most `maxLength` characters: the API refuses surrogates that stand alone. */
export const anyText = (maxLength: number) =>
  fc.string({ unit: anyCharacter, maxLength }).filter((text) => text.isWellFormed());
