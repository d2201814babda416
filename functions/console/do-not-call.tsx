import { useRef, useState } from "preact/hooks";
import type { ErasedAnswer } from "../api/operator/erase.ts";
import { Confirm } from "./confirm.tsx";
import type { NumberChecked } from "../api/operator/do-not-call.ts";
import { Needs, useDesk } from "./desk.tsx";
import { textIn } from "./shared.tsx";

/**
 * The do-not-call list: checks, adds and removes numbers. It shows none, as the list holds hashes. Below it, everything that
 * is known of a number is erased.
 */
export function DoNotCall() {
  return (
    <>
      <Check />
      <Needs role="decide">
        <Change />
      </Needs>
      <Needs role="configure">
        <Erase />
      </Needs>
    </>
  );
}

function Check() {
  const { ask, attempt } = useDesk();
  return (
    <section class="card" aria-labelledby="check">
      <h3 id="check">Is a number on the list?</h3>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          const phone_number = textIn(new FormData(event.currentTarget), "number");
          attempt(async () => {
            const { listed } = await ask<NumberChecked>("/do-not-call/check", { phone_number });
            return listed
              ? "The number is on the list: nobody calls it."
              : "The number is not on the list.";
          });
        }}
      >
        <label>
          Phone number
          <input name="number" type="tel" autocomplete="off" placeholder="+12025550123" required />
        </label>
        <button type="submit">Check</button>
      </form>
    </section>
  );
}

function Change() {
  const { ask, attempt } = useDesk();
  const submit = (form: HTMLFormElement, verb: string) => {
    const numbers = textIn(new FormData(form), "numbers")
      .split(/[\s,;]+/)
      .filter(Boolean);
    const count = numbers.length === 1 ? "1 number" : `${numbers.length} numbers`;
    attempt(async () => {
      await ask("/do-not-call", { [verb]: numbers });
      form.reset();
      return verb === "add" ? `Added ${count}: they are no longer called.` : `Removed ${count}.`;
    });
  };
  return (
    <section class="card" aria-labelledby="change">
      <h3 id="change">Add or remove numbers</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget, event.submitter?.getAttribute("value") ?? "add");
        }}
      >
        <label>
          Phone numbers, one a line
          <textarea name="numbers" rows={6} autocomplete="off" required />
        </label>
        <p class="line">
          <button type="submit" value="add">
            Add
          </button>
          <Needs role="configure">
            <button type="submit" value="remove">
              Remove
            </button>
          </Needs>
        </p>
      </form>
      <p class="hint">
        The list holds hashes of numbers, so it cannot be shown. Whole lists:{" "}
        <code>npm run calls -- dnc add --file numbers.txt</code>.
      </p>
    </section>
  );
}

function Erase() {
  const { ask, attempt } = useDesk();
  /** The number about which the operator is asked once more. */
  const [asked, setAsked] = useState<string>();
  const form = useRef<HTMLFormElement>(null);
  const erase = (phone_number: string) =>
    attempt(async () => {
      const { erased, pending } = await ask<ErasedAnswer>("/erase", { phone_number });
      form.current?.reset();
      const later = pending.length === 0 ? "" : `; ${pending.length} more when they settle`;
      return `Erased ${erased === 1 ? "1 call" : `${erased} calls`}${later}.`;
    });
  return (
    <section class="card" aria-labelledby="erase">
      <h3 id="erase">Erase what is known of a number</h3>
      <form
        ref={form}
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(textIn(new FormData(event.currentTarget), "erased"));
        }}
      >
        <label>
          Number to erase
          <input name="erased" type="tel" autocomplete="off" required />
        </label>
        <button type="submit">Erase …</button>
      </form>
      <p class="hint">
        Cancels what waits for the number, and cannot be undone. Calls that are posted later are
        made: add the number to the list if nobody may call it again.
      </p>
      {asked === undefined ? null : (
        <Confirm
          title="Erase all that is known of this number?"
          yes="Erase it for good"
          act={() => erase(asked)}
          close={() => setAsked(undefined)}
        >
          <p>Its waiting calls are cancelled. This cannot be undone.</p>
        </Confirm>
      )}
    </section>
  );
}
