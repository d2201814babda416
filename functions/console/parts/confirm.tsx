import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "./desk.tsx";

interface Question {
  title: string;
  /** Label of the button that confirms. */
  yes: string;
  no?: string;
  count?: number | undefined;
  /** False while what the operator must say is missing. */
  isReady?: boolean;
  /**
   * Does what was confirmed. If it returns a promise, the dialog stays open until the promise resolves, and shows the
   * error if it rejects; otherwise the dialog closes at once.
   */
  act(): void | Promise<void>;
  close(): void;
  children?: ComponentChildren;
}

/**
 * A question before a grave action, in a dialog that Escape closes. The harmless button has the focus, and Enter in a
 * field confirms nothing, except in the count: with `count`, the button is disabled until the operator has typed that
 * number. The second click of a double click is ignored, because the first may have opened the dialog; it does not
 * even move the focus from the harmless button.
 */
export function Confirm(question: Question) {
  const { title, yes, no = "Leave it", count, isReady = true, close, children } = question;
  const modal = useModal();
  const [typed, setTyped] = useState("");
  const { confirm, isBusy, problem } = useConfirmation(question);
  const isConfirmed = isReady && (count === undefined || typed.trim() === String(count));
  return (
    <dialog {...modal} aria-labelledby="confirm" aria-busy={isBusy} onClose={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (count !== undefined && isConfirmed) confirm();
        }}
      >
        <h3 id="confirm">{title}</h3>
        {children}
        {count === undefined ? null : (
          <label>
            Type {count} to confirm
            <input
              name="count"
              inputMode="numeric"
              autocomplete="off"
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        )}
        {problem === undefined ? null : (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p class="line">
          <button
            type="button"
            class="grave"
            disabled={!isConfirmed || isBusy}
            onClick={(event) => {
              if (event.detail < 2) confirm();
            }}
          >
            {yes}
          </button>
          <button type="button" data-harmless onClick={close}>
            {no}
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** Opens a dialog with the focus on its harmless button, and gives the focus back where it was. */
function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  const wasPressed = useRef(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>("[data-harmless]")?.focus();
    // A dialog that is removed while open does not give the focus back.
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const onMouseDown = (event: MouseEvent) => {
    if (event.detail > 1 && !wasPressed.current) event.preventDefault();
    wasPressed.current = true;
  };
  return { ref: dialog, onMouseDown };
}

/** Confirms once, and again only after an error. */
function useConfirmation({ act, close }: Pick<Question, "act" | "close">) {
  const isConfirmed = useRef(false);
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const carryOut = async (work: Promise<void>) => {
    setIsBusy(true);
    setProblem(undefined);
    try {
      await work;
      close();
    } catch (error) {
      isConfirmed.current = false;
      setProblem(messageOf(error));
      setIsBusy(false);
    }
  };
  const confirm = () => {
    if (isConfirmed.current) return;
    isConfirmed.current = true;
    const work = act();
    if (work === undefined) close();
    else void carryOut(work);
  };
  return { confirm, isBusy, problem };
}
