import type { NumberChecked } from "../operator/do-not-call.ts";
import { type Ask, type Attempt, textIn } from "./shared.tsx";

/** Form for the do-not-call list, one number at a time. */
export function DoNotCall({ ask: asking, attempt }: { ask: Ask; attempt: Attempt }) {
  const submit = (form: HTMLFormElement, verb: string) => {
    const phone_number = textIn(new FormData(form), "number");
    attempt(async () => {
      if (verb === "check") {
        const { listed } = await asking<NumberChecked>("/do-not-call/check", {
          phone_number,
        });
        return listed
          ? "The number is on the list: nobody calls it."
          : "The number is not on the list.";
      }
      await asking("/do-not-call", { [verb]: [phone_number] });
      return verb === "add" ? "Added: nobody calls it." : "Removed.";
    });
  };
  return (
    <section class="card" aria-labelledby="never">
      <h2 id="never">Do not call</h2>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          const pressed = event.submitter?.getAttribute("value") ?? "check";
          submit(event.currentTarget, pressed);
        }}
      >
        <label>
          Phone number
          <input name="number" type="tel" autocomplete="off" placeholder="+12025550123" required />
        </label>
        <button type="submit" value="check">
          Check
        </button>
        <button type="submit" value="add">
          Add
        </button>
        <button type="submit" value="remove">
          Remove
        </button>
      </form>
    </section>
  );
}
