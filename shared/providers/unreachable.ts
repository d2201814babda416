/** A provider did not answer, or refused to. Its error is the cause. */
export class ProviderUnreachableError extends Error {
  constructor(cause: unknown) {
    super("the provider did not answer", { cause });
  }
}
