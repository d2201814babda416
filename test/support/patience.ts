const secondsFrom = 3;
const patience = 30;

/**
 * Lets limits of seconds last some minutes. A function's ports time out after 4 s, and on a machine that does much else a local
 * engine may take longer, which is no trouble of the service. Tests of the limits themselves have a clock of their own.
 *
 * @returns a function that ends it
 */
export function waitPatiently(): () => void {
  const given = globalThis.setTimeout;
  if ("isPatient" in given) return () => {};
  globalThis.setTimeout = Object.assign(
    (work: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) =>
      given(work, ms < secondsFrom * 1_000 ? ms : ms * patience, ...values),
    given,
    { isPatient: true },
  );
  return () => {
    globalThis.setTimeout = given;
  };
}
