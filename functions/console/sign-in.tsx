import { textIn } from "./shared.tsx";

/** Form for the operator's token. */
export function SignIn({ enter }: { enter(token: string): void }) {
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        const token = textIn(new FormData(event.currentTarget), "token");
        if (token !== "") enter(token);
      }}
    >
      <label>
        Operator's token
        <input type="password" name="token" autocomplete="off" required />
      </label>
      <button type="submit">Open</button>
      <p class="hint">It stays in this tab until you sign out or close the tab.</p>
    </form>
  );
}
