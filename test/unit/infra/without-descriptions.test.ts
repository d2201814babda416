import { expect, it } from "vitest";
import { removeDescriptions } from "#infra/generate/without-descriptions.ts";

it("leaves out descriptions of routes and schemas, of one line or several", () => {
  const module = `declareRoute({
  operationId: "one",
  summary: "A \\"summary\\", with more: of it",
  path: "/one",
  description:
    "First line. " +
    "Second line.",
  query: z.object({
    at: z.string().check(z.describe("A time")),
    to: z
      .string()
      .check(
        z.describe(
          "Another " + "time",
        ),
        )
      .check(z.maxLength(3)),
  }),
});`;
  const left = removeDescriptions(module);
  expect(left.replaceAll(/\s+/g, "")).toBe(
    `declareRoute({operationId:"one",path:"/one",query:z.object({at:z.string(),to:z.string().check(z.maxLength(3)),}),});`,
  );
});

it("leaves what is computed, and what is no description", () => {
  const module = `const a = { description: words, summary: \`At most \${max}\` };
  log({ summary: "a" });
  x.check(z.describe(\`At most \${max}\`));`;
  expect(removeDescriptions(module)).toBe(module);
});
