/**
 * Returns a function that formats the local time of a zone by the runtime's Intl, `YYYY-MM-DDTHH:MM`, without
 * code of ours.
 */
export function localTime(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "short",
  });
  return (at) => format.format(at).replace(" ", "T");
}
