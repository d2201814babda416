import * as z from "./zod.ts";

/** The body of a problem. No bundle has the schema: only generators and commands read by it. */
export const problemSchema = z
  .looseObject({
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: z.optional(
      z.array(
        z.looseObject({
          pointer: z.optional(z.string()),
          parameter: z.optional(z.string()),
          header: z.optional(z.string()),
          detail: z.string(),
        }),
      ),
    ),
  })
  .check(
    z.meta({
      id: "Problem",
      description: "RFC 9457. What is wrong and where, never what the value was.",
    }),
  );
export type Problem = z.infer<typeof problemSchema>;
