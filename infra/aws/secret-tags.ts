/** Tags by which commands find the secrets of a stack, whose names CloudFormation makes. */
export const secretTags = { stack: "outbound-calls:stack", kind: "outbound-calls:secret" } as const;

/** The two secrets: the API's and the dialer's common settings, and the providers' secrets for the dialer alone. */
export type SecretKind = "settings" | "providers";
