/** Local time of a zone as the runtime's Intl has it, `YYYY-MM-DDTHH:MM`: plain, and nothing of ours. */
export function localTime(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "short",
  });
  return (at) => format.format(at).replace(" ", "T");
}
