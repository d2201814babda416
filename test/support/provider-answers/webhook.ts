import type { AnswerFixture } from "#test/contracts/provider-bench.ts";

const page = "docs/webhook.md";
const wait = { "retry-after": "7" };

/** Answers of a receiver of the user's own, which needs no form: their status counts. */
export const webhookAnswers: AnswerFixture[] = [
  {
    page: `${page}: 2xx`,
    says: "with an `id`",
    status: 200,
    body: { id: "CA1" },
    outcome: { kind: "placed", providerCallId: "CA1" },
  },
  {
    page: `${page}: 2xx`,
    says: "with whatever else",
    status: 201,
    body: "no JSON",
    outcome: { kind: "placed" },
  },
  {
    page: `${page}: 2xx`,
    says: "without a body",
    status: 204,
    body: "",
    outcome: { kind: "placed" },
  },
  {
    page: `${page}: 429, 503`,
    says: "with `Retry-After`",
    status: 503,
    headers: wait,
    body: "",
    outcome: { kind: "not_placed", code: "http_503", retryAfterSeconds: 7 },
  },
  {
    page: `${page}: anything else`,
    says: "without `Retry-After`",
    status: 503,
    body: "",
    outcome: { kind: "unknown", code: "http_503" },
  },
  {
    page: `${page}: anything else`,
    says: "with `Retry-After`",
    status: 500,
    headers: wait,
    body: "",
    outcome: { kind: "unknown", code: "http_500" },
  },
  {
    page: `${page}: anything else`,
    says: "a redirect",
    status: 307,
    headers: { location: "/other" },
    body: "",
    outcome: { kind: "unknown", code: "http_307" },
  },
];
