/** Tags by which commands find the secrets and the table of a stack, whose names CloudFormation makes. */
export const secretTags = {
  stack: "outbound-calls:stack",
  kind: "outbound-calls:secret",
  table: "outbound-calls:table",
} as const;

/** The two secrets: what API and dialer have in common, webhooks' secrets too, and what the dialer alone reads. */
export type SecretKind = "settings" | "providers";
