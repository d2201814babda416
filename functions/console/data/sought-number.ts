import { useEffect, useState } from "preact/hooks";

/** The number whose calls are shown. No URL may contain it, so it is kept here until the view of calls is left. */
let number = "";
const watchers = new Set<(number: string) => void>();

export function seekNumber(next: string): void {
  number = next;
  for (const watcher of watchers) watcher(next);
}

/** Returns the number that is sought, and renders again when it changes. */
export function useSoughtNumber(): string {
  const [current, setCurrent] = useState(number);
  useEffect(() => {
    watchers.add(setCurrent);
    setCurrent(number);
    return () => {
      watchers.delete(setCurrent);
      number = "";
    };
  }, []);
  return current;
}
