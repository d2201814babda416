import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Question {
  title: string;
  /** Label of the button that confirms. */
  yes: string;
  no?: string;
  count?: number | undefined;
  act(): void;
  close(): void;
  children?: ComponentChildren;
}

/**
 * A question before a grave action, in a dialog that Escape closes. With `count`, the button is disabled until the
 * operator has typed that number.
 */
export function Confirm({ title, yes, no = "Leave it", count, act, close, children }: Question) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // A dialog that is removed while open does not give the focus back.
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const isConfirmed = count === undefined || typed.trim() === String(count);
  return (
    <dialog ref={dialog} aria-labelledby="confirm" onClose={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isConfirmed) return;
          close();
          act();
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
        <p class="line">
          <button type="submit" class="grave" disabled={!isConfirmed}>
            {yes}
          </button>
          <button type="button" onClick={close}>
            {no}
          </button>
        </p>
      </form>
    </dialog>
  );
}
