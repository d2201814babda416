import * as z from "#shared/lib/zod.ts";

/** Accepted advisories, as `infra/cli/audit-exceptions.json` has them. */
export const exceptionsSchema = z.array(
  z.strictObject({
    /** Id of the advisory, such as GHSA-xxxx-xxxx-xxxx. */
    advisory: z.string().check(z.regex(/^GHSA(-[0-9a-z]{4}){3}$/)),
    because: z.string().check(z.minLength(20)),
    /** `YYYY-MM-DD`, at most some months ahead, when the exception must be reviewed. */
    until: z.iso.date(),
  }),
);

/** A known vulnerability of a package, as npm reports it. */
export const advisorySchema = z.object({
  name: z.string(),
  title: z.string(),
  url: z.string(),
  severity: z.enum(["info", "low", "moderate", "high", "critical"]),
});

/**
 * Returns a line about an advisory, and whether it must not stay: it is high or critical, and no exception accepts it on that
 * day (`YYYY-MM-DD`).
 */
export function judgeAdvisory(
  { name, title, url, severity }: z.infer<typeof advisorySchema>,
  exceptions: z.infer<typeof exceptionsSchema>,
  today: string,
): { line: string; isRefused: boolean } {
  const exception = exceptions.find(({ advisory }) => url.endsWith(advisory));
  const isGrave = severity === "high" || severity === "critical";
  const isExcepted = exception !== undefined && exception.until >= today;
  const why = isExcepted ? `; until ${exception.until}: ${exception.because}` : "";
  return {
    line: `${severity}: ${name}, ${title} (${url})${why}`,
    isRefused: isGrave && !isExcepted,
  };
}
