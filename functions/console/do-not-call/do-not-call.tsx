import { useState } from "preact/hooks";
import type {
  CallsPage,
  ErasedAnswer,
  ListedNumbers,
  NumberChecked,
} from "#shared/answers/answers.ts";
import { Confirm } from "../parts/confirm.tsx";
import { type Ask, Shown, useDesk, useLive, useRoles, WithRole } from "../parts/desk.tsx";
import type { Understood } from "../data/number-reader.ts";
import { NumbersRead, PhoneNumber, useNumberField } from "../parts/phone-number.tsx";
import { counted, countText } from "../parts/shared.tsx";
import { useUndo } from "../parts/undo.tsx";

/**
 * The do-not-call list: checks, adds and removes numbers. It shows no numbers, because the list contains hashes.
 * Below it, everything that is known of a number can be erased.
 */
export function DoNotCall() {
  const roles = useRoles();
  const mayNothing = roles.length > 0 && roles.every((role) => role === "see" || role === "reveal");
  return (
    <>
      {mayNothing ? (
        <p>To check a number, a token needs the role find; to add numbers, decide.</p>
      ) : null}
      <WithRole role="find">
        <Check />
      </WithRole>
      <WithRole role="decide">
        <Change />
      </WithRole>
      <WithRole role="configure">
        <Erase />
        <FormerKey />
      </WithRole>
    </>
  );
}

function Check() {
  const { ask, attempt } = useDesk();
  const field = useNumberField();
  return (
    <section class="card" aria-labelledby="check">
      <h3 id="check">Is a number on the list?</h3>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          attempt(async () => {
            const read = await field.take();
            if (read === undefined) return undefined;
            const { listed, clients = [] } = await ask<NumberChecked>("/do-not-call/check", {
              phone_number: read.number,
            });
            const own = clients.length === 0 ? "" : ` ${clients.join(", ")} may not call it.`;
            return listed
              ? `${read.shown} is on the list: nobody calls it.${own}`
              : `${read.shown} is not on the list for everybody.${own}`;
          });
        }}
      >
        <PhoneNumber label="Phone number" field={field} />
        <button type="submit">Check</button>
      </form>
    </section>
  );
}

/** Maximum numbers of an addition that can be undone. */
const undoneMax = 20;

/** Adds numbers, and resolves to those of them that were not on the list before; to none if that is not known. */
async function addNumbers(ask: Ask, add: readonly string[]): Promise<string[]> {
  const findNew = async () => {
    const { listed } = await ask<ListedNumbers>("/find-listed", { phone_numbers: add });
    return add.filter((_, index) => !listed.includes(index));
  };
  const found = add.length > undoneMax ? [] : await findNew().catch(() => []);
  await ask("/do-not-call", { add });
  return found;
}

const countOf = (numbers: readonly string[]) => counted(numbers.length, "number");

/** Returns functions that add numbers, which can be undone, and remove them. Both resolve to a message. */
function useListChanges(mayRemove: boolean) {
  const { ask } = useDesk();
  const offerUndo = useUndo();
  const remove = async (numbers: readonly string[]) => {
    await ask("/do-not-call", { remove: numbers });
    return `Removed ${countOf(numbers)}.`;
  };
  const add = async (numbers: readonly string[]) => {
    const added = await addNumbers(ask, numbers);
    const texts = `Added ${countOf(numbers)}: nobody calls ${numbers.length === 1 ? "it" : "them"} any more.`;
    // Numbers that were on the list before stay there: somebody may have opted out.
    if (added.length > 0 && mayRemove) offerUndo({ texts, undo: () => remove(added) });
    return texts;
  };
  return { add, remove };
}

function Change() {
  const { attempt } = useDesk();
  const mayRemove = useRoles().includes("configure");
  const { add, remove } = useListChanges(mayRemove);
  const [removed, setRemoved] = useState<readonly string[]>();
  const field = useNumberField();
  const { text, change, reader } = field;
  const list = text.trim() === "" ? undefined : reader?.readMany(text);
  // A line that cannot be read is corrected first, so that nobody takes it for listed.
  const numbers = list === undefined || list.refused.length > 0 ? [] : list.numbers;
  const done = (texts: string) => {
    change("");
    return texts;
  };
  const submit = (verb: string) => {
    if (numbers.length === 0) return;
    if (verb === "remove") setRemoved(numbers);
    else attempt(async () => done(await add(numbers)));
  };
  return (
    <section class="card" aria-labelledby="change">
      <h3 id="change">Add or remove numbers</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.submitter?.getAttribute("value") ?? "add");
        }}
      >
        <label>
          Phone numbers, one a line
          <textarea
            rows={6}
            autocomplete="off"
            required
            value={text}
            onFocus={field.touch}
            onInput={(event) => change(event.currentTarget.value)}
          />
        </label>
        <NumbersRead field={field} />
        <ChangeButtons numbers={numbers} mayRemove={mayRemove} />
      </form>
      <p class="hint">
        The list holds hashes of numbers, so it cannot be shown. Whole lists:{" "}
        <code>npm run calls -- dnc add --file numbers.txt</code>.
      </p>
      {removed === undefined ? null : (
        <AskRemoval
          numbers={removed}
          act={async () => {
            const texts = done(await remove(removed));
            attempt(async () => texts);
          }}
          close={() => setRemoved(undefined)}
        />
      )}
    </section>
  );
}

function ChangeButtons({ numbers, mayRemove }: { numbers: readonly string[]; mayRemove: boolean }) {
  return (
    <p class="line">
      <button type="submit" value="add" disabled={numbers.length === 0}>
        Add {numbers.length === 0 ? "" : countOf(numbers)}
      </button>
      {mayRemove ? (
        <button type="submit" value="remove" disabled={numbers.length === 0}>
          Remove {numbers.length === 0 ? "" : countOf(numbers)} …
        </button>
      ) : null}
    </p>
  );
}

function AskRemoval({
  numbers,
  act,
  close,
}: {
  numbers: readonly string[];
  act(): Promise<void>;
  close(): void;
}) {
  return (
    <Confirm
      title={`Remove ${countOf(numbers)} from the list?`}
      yes={`Remove ${countOf(numbers)}`}
      no="Keep the list as it is"
      act={act}
      close={close}
    >
      <p>
        Every client may call them again, including people who opted out. What a client added only
        for its own calls stays.
      </p>
    </Confirm>
  );
}

/** Maximum calls that are counted before an erasure. */
const erasedCountedMax = 200;

/** Says how many calls of whom an erasure is about. */
function ErasedCalls({ phone_number }: { phone_number: string }) {
  const body = { phone_number, limit: erasedCountedMax };
  const live = useLive<CallsPage>({ path: "/calls/search", body });
  return (
    <Shown live={live} what="The calls of the number">
      {({ calls, cursor }) => {
        const clients = [...new Set(calls.map(({ client }) => client))];
        const waiting = calls.filter(({ state }) => state === "WAITING").length;
        const of = clients.length === 0 ? "" : ` of ${clients.join(", ")}`;
        const more = cursor === undefined ? "" : " or more";
        return (
          <p>
            It has {counted(calls.length, "call")}
            {more}
            {of}, {countText(waiting)} of them waiting.
          </p>
        );
      }}
    </Shown>
  );
}

function Erase() {
  const { ask, attempt } = useDesk();
  const field = useNumberField();
  /** The number about which the operator is asked once more. */
  const [asked, setAsked] = useState<Understood>();
  const erase = (phone_number: string) =>
    attempt(async () => {
      const { erased, pending, may_also_be } = await ask<ErasedAnswer>("/erase", { phone_number });
      field.change("");
      const later = pending.length === 0 ? "" : `; ${pending.length} more when they settle`;
      const others = may_also_be.map(
        (one) =>
          ` There are calls to ${one.phone_number}, which may be the same phone: erase it too?`,
      );
      return `Erased ${counted(erased, "call")}${later}.${others.join("")}`;
    });
  return (
    <section class="card" aria-labelledby="erase">
      <h3 id="erase">Erase what is known of a number</h3>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          void field.take().then(setAsked);
        }}
      >
        <PhoneNumber label="Number to erase" field={field} />
        <button type="submit">Erase …</button>
      </form>
      <p class="hint">
        Cancels what waits for the number, and cannot be undone. Calls that are posted later are
        made: add the number to the list if nobody may call it again.
      </p>
      {asked === undefined ? null : (
        <Confirm
          title={`Erase all that is known of ${asked.shown}?`}
          yes="Erase it for good"
          act={() => erase(asked.number)}
          close={() => setAsked(undefined)}
        >
          <WithRole role="find">
            <ErasedCalls phone_number={asked.number} />
          </WithRole>
          <p>Its waiting calls are cancelled. This cannot be undone.</p>
        </Confirm>
      )}
    </section>
  );
}

/** Retires the former HASH_KEY of the list after a rotation. */
function FormerKey() {
  const { ask, attempt } = useDesk();
  const [isAsking, setIsAsking] = useState(false);
  const retire = () =>
    attempt(async () => {
      await ask("/hash-key/retire-former", {});
      return "The former HASH_KEY is retired. Now set HASH_KEY to the current one alone.";
    });
  return (
    <details>
      <summary>After a rotation of HASH_KEY</summary>
      <p class="line">
        <button type="button" class="grave" onClick={() => setIsAsking(true)}>
          Retire the former key …
        </button>
      </p>
      {isAsking ? (
        <Confirm
          title="Retire the former HASH_KEY?"
          yes="Retire it"
          act={retire}
          close={() => setIsAsking(false)}
        >
          <p>It is refused while an entry of the list, a call or a token needs that key.</p>
        </Confirm>
      ) : null}
    </details>
  );
}
