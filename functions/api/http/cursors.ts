import * as z from "#shared/lib/zod.ts";

/** The error of a cursor that no answer contained. */
export const foreignCursor = "must be a cursor of an earlier answer";
const cursorCharactersMax = 3000;

/** A cursor in a list of calls: the `next` of the ledger. */
export const callCursor = z.string().check(z.regex(/^call_\w{1,60}$/, foreignCursor));

/** A position in a backlog: the due time and id of the last call that was read. */
export const duePositionSchema = z.strictObject({ dueAt: z.number(), id: z.string() });

/** Encodes a position as a cursor, opaque to clients. */
export function toCursor(position: object): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

/** Returns a schema that decodes the cursors of `toCursor` for positions of the given schema. */
export function createCursorSchema<Position>(schema: z.ZodMiniType<Position>) {
  return z.pipe(
    z.string().check(z.maxLength(cursorCharactersMax)),
    z.transform((text, { issues }): Position => {
      const json = Buffer.from(text, "base64url").toString();
      const { data } = schema.safeParse(jsonIn(json));
      if (data !== undefined) return data;
      issues.push({ code: "custom", message: foreignCursor, input: text });
      return z.NEVER;
    }),
  );
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
