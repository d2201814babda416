import { zValidator } from "@hono/zod-validator";
import type * as z from "zod";
import { errorsOf, unprocessable } from "../problem.ts";
import { readJson } from "../middleware/read-json.ts";

const notAsked = "is not a field of this request";
/** Room for the do-not-call list's ten thousand numbers. */
const bodyBytesMax = 512 * 1024;

/** Reads a body of JSON, before `body` judges it. */
export const read = readJson(bodyBytesMax);

/** Judges a query by its schema; 422 where it does not fit. */
export function query<Schema extends z.ZodType>(schema: Schema) {
  return zValidator("query", schema, (result, c) => {
    if (!result.success) return unprocessable(c, errorsOf(result.error.issues, notAsked));
  });
}

/** Judges a body by its schema; 422 where it does not fit. */
export function body<Schema extends z.ZodType>(schema: Schema) {
  return zValidator("json", schema, (result, c) => {
    if (!result.success) return unprocessable(c, errorsOf(result.error.issues, notAsked));
  });
}
