import { useEffect, useRef } from "preact/hooks";
import type { Refused } from "../data/session.ts";
import { textIn } from "../parts/shared.tsx";

interface Entry {
  enter(token: string): void;
}

/** Form for the operator's token. */
export function SignIn({ enter }: Entry) {
  return (
    <form class="card" onSubmit={(event) => submit(event, enter)}>
      <TokenField />
      <button type="submit">Open</button>
      <p class="hint">It stays in this tab until you sign out or close the tab.</p>
    </form>
  );
}

/** Asks for a token above the open view, which does not change. */
export function SignInAgain({
  refused: { actions, tries },
  enter,
  leave,
}: Entry & { refused: Refused; leave(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const waits = actions === 1 ? "One request of yours waits" : `${actions} requests of yours wait`;
  return (
    // Without a token nothing continues, so Escape does not close it.
    <dialog
      ref={dialog}
      aria-labelledby="again"
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
    >
      <form onSubmit={(event) => submit(event, enter)}>
        <h3 id="again">Sign in again</h3>
        <p>The service no longer accepts your token. Everything that you have open stays.</p>
        {actions === 0 ? null : (
          <p>{waits} until you sign in. If you sign out, nothing of it is sent.</p>
        )}
        <TokenField />
        <p role="alert" class="problem">
          {tries === 0 ? "" : "This is not an operator's token, or it is no longer valid."}
        </p>
        <p class="line">
          <button type="submit">Sign in</button>
          <button type="button" onClick={leave}>
            Sign out
          </button>
        </p>
      </form>
    </dialog>
  );
}

function TokenField() {
  return (
    <label>
      Operator's token
      <input type="password" name="token" autocomplete="off" required />
    </label>
  );
}

function submit(
  event: { preventDefault(): void; currentTarget: HTMLFormElement },
  enter: Entry["enter"],
): void {
  event.preventDefault();
  const token = textIn(new FormData(event.currentTarget), "token");
  if (token !== "") enter(token);
}
