/** What every side answers to the bench: that it is ready, and its CPU time. */
export function ready(about: object = {}): void {
  process.send?.(about);
}

/** Answers what the bench asks: `cpu` always, others by name. */
export function answer(others: Record<string, (message: object) => Promise<unknown>> = {}): void {
  process.on("message", (message: { ask: string }) => {
    const other = others[message.ask] ?? (async () => process.cpuUsage());
    other(message).then(
      (said) => process.send?.(said ?? {}),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.on("disconnect", () => process.exit());
}
