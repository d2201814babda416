import { useCallback, useEffect, useState } from "preact/hooks";
import { type View, views } from "../data/address.ts";

/** Time for which a message that is no error is shown. */
const shownMs = 30_000;

/** A message to people. Without a view it is the page's own. */
export interface Message {
  texts: string;
  of?: View | undefined;
  isError?: boolean;
}

/**
 * The message that the page shows. It ends with its view or after a while; an error stays until it is closed.
 */
export function useMessage(view: View) {
  const [message, show] = useState<Message>();
  useEffect(() => {
    show((before) => (before === undefined || before.isError === true ? before : undefined));
  }, [view]);
  useEffect(() => {
    if (message === undefined || message.isError === true) return undefined;
    const timer = setTimeout(() => show(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [message]);
  const close = useCallback(() => show(undefined), []);
  return { message, show, close };
}

/** The message, with its view's name if another one is open, announced to screen readers. */
export function Said({
  message,
  view,
  close,
}: {
  message: Message | undefined;
  view: View;
  close(): void;
}) {
  const { texts = "", of = view, isError = false } = message ?? {};
  return (
    <div class="said">
      <p role="status" aria-live="polite" class={isError ? "problem" : undefined}>
        {of === view ? texts : `${views[of]}: ${texts}`}
      </p>
      {isError ? (
        <button type="button" class="quiet" onClick={close}>
          Close <span class="unseen">the message</span>
        </button>
      ) : null}
    </div>
  );
}
