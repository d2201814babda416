/** The result of `work`, or an error after `seconds`; what `work` was doing may still take effect. */
export async function withTimeLimit<Result>(
  work: Promise<Result>,
  seconds: number,
): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
