/** Reports to the bench that a side is ready. */
export function ready(about: object = {}): void {
  process.send?.(about);
}

/** Answers the bench's questions: always `cpu`, and others by name. */
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
