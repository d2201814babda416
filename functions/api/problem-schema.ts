import * as z from "zod";

/** The body of a problem. No answer is judged by the schema, so it is in a file that no bundle contains. */
export const problemSchema = z
  .object({
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: z
      .array(
        z.object({
          pointer: z.string().optional(),
          header: z.string().optional(),
          detail: z.string(),
        }),
      )
      .optional(),
  })
  .meta({
    id: "Problem",
    description: "RFC 9457. What is wrong and where, never what the value was.",
  });
export type Problem = z.infer<typeof problemSchema>;
