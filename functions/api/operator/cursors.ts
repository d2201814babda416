import * as z from "zod";

/** What is wrong with a cursor that no answer had. */
export const foreignCursor = "must be a cursor of an earlier answer";
const cursorMax = 3000;

/** A place as a cursor: opaque to clients. */
export function opaqueCursorOf(place: object): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** Reads a cursor that `opaqueCursorOf` made of such a place. */
export function opaqueCursorTo<Place>(schema: z.ZodType<Place>) {
  return z
    .string()
    .max(cursorMax)
    .transform((text, { addIssue }): Place => {
      const json = Buffer.from(text, "base64url").toString();
      const { data } = schema.safeParse(jsonIn(json));
      if (data !== undefined) return data;
      addIssue(foreignCursor);
      return z.NEVER;
    });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
