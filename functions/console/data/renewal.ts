import { useEffect, useRef } from "preact/hooks";

/** Longest interval of renewals while they fail. */
const failingMsMax = 60_000;

/**
 * Calls `renew` at intervals while the page is visible, later after each failure, and at once when the page comes into
 * sight or the browser comes online; never while an earlier call is under way.
 *
 * @param renew resolves to false after a failure
 */
export function useRenewal(renew: () => Promise<boolean>, everyMs: number): void {
  const current = useRef(renew);
  current.current = renew;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isUnderWay = false;
    let isOver = false;
    let failures = 0;
    const now = async () => {
      if (isUnderWay || document.visibilityState !== "visible") return;
      isUnderWay = true;
      clearTimeout(timer);
      failures = (await current.current()) ? 0 : failures + 1;
      isUnderWay = false;
      if (!isOver) wait();
    };
    const wait = () => {
      const delayMs = Math.min(everyMs * 2 ** failures, Math.max(everyMs, failingMsMax));
      timer = setTimeout(() => void now(), delayMs);
    };
    const at = () => void now();
    wait();
    addEventListener("online", at);
    document.addEventListener("visibilitychange", at);
    return () => {
      isOver = true;
      clearTimeout(timer);
      removeEventListener("online", at);
      document.removeEventListener("visibilitychange", at);
    };
  }, [everyMs]);
}
