/** The results of one part of the bench. */
export interface Section {
  title: string;
  /** The results as Markdown. */
  text: string;
  targets: Target[];
  /** Quantities that other parts compute with, by name. */
  counts?: Record<string, number>;
}

export interface Target {
  what: string;
  /** Target value, such as `≤ 1.5 × floor`. */
  target: string;
  /** Measured value, such as `1.32 ×`. */
  measured: string;
  met: boolean;
}

/** Hands a part's section to the run that started it; a part that runs alone prints it. */
export function report(section: Section): void {
  if (process.send === undefined) console.log(markdownOf(section));
  else process.send(section);
}

export function markdownOf({ title, text, targets }: Section): string {
  const judged = targets.length === 0 ? "" : `\n\n${targetsTable(targets)}`;
  return `## ${title}\n\n${text}${judged}\n`;
}

export function targetsTable(targets: readonly Target[]): string {
  return table(
    ["What", "Target", "Measured", ""],
    targets.map(({ what, target, measured, met }) => [
      what,
      target,
      measured,
      met ? "met" : "**missed**",
    ]),
  );
}

/** Formats a Markdown table, with numbers aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumeric = (column: number) =>
    rows.length > 0 && rows.every((row) => /^$|^[\d≤$]/.test(row[column] ?? ""));
  const rule = head.map((_, column) => (isNumeric(column) ? "---:" : "---"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Formats a cost and its range as multiples of another's median, such as `1.32 × (1.28–1.41)`. */
export function times(
  cost: { median: number; low: number; high: number },
  base: { median: number },
): string {
  const [median, low, high] = [cost.median, cost.low, cost.high].map((one) =>
    (one / base.median).toFixed(2),
  );
  return `${median} × (${low}–${high})`;
}
