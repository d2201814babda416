/** Thrown where something took longer than it may; what it was doing may still take effect. */
export class TimeLimitError extends Error {
  override name = "TimeLimitError";
}

/** The result of `work`, or a TimeLimitError after `seconds`. */
export async function withTimeLimit<Result>(
  work: Promise<Result>,
  seconds: number,
): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TimeLimitError(`no answer within ${seconds} s`)),
      seconds * 1000,
    );
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
