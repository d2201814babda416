import { useRef, useState } from "preact/hooks";
import type { Found, Me, Searched } from "#shared/answers/answers.ts";
import { addressOf, go } from "../data/address.ts";
import { type Ask, messageOf, rolesMs, useDesk, useLive } from "../parts/desk.tsx";
import { textIn } from "../parts/shared.tsx";
import { loadNumberReader } from "../data/number-reader.ts";
import { mayBeNumber } from "../data/may-be-number.ts";
import { seekNumber } from "../data/sought-number.ts";

/** Returns the address of the view that shows what was found. */
function viewOf({ kind, id }: Found): string {
  switch (kind) {
    case "call":
      return addressOf("calls", { call: id });
    case "request":
      return addressOf("requests", { id });
    case "number":
      return addressOf("calls");
    case "campaign":
      return addressOf("requests", { calls_min: "1", campaign: id });
    case "agent":
      return addressOf("calls", { agent_id: id });
    case "split":
      return addressOf("accounts");
    case "client":
      return addressOf("calls", { client: id });
  }
}

function show(found: Found): void {
  seekNumber(found.kind === "number" ? found.id : "");
  go(viewOf(found));
}

/** A box that finds a call, request, number, campaign, agent or client, and goes to its view. */
export function SearchBox() {
  const { ask } = useDesk();
  const [{ text, searched, problem }, setAnswer] = useState<{
    text?: string;
    searched?: Searched;
    problem?: string;
  }>({});
  const searches = useRef(0);
  const find = async (given: string, form: HTMLFormElement) => {
    searches.current += 1;
    const own = searches.current;
    setAnswer({});
    try {
      const phone_number = mayBeNumber(given) ? await numberIn(given, ask) : undefined;
      const answer = await ask<Searched>("/search", {
        text: given,
        ...(phone_number !== undefined && { phone_number }),
      });
      if (searches.current !== own) return; // the answer of a later search stays
      const [one, ...others] = answer.found;
      if (one === undefined || others.length > 0)
        return setAnswer({ text: given, searched: answer });
      if (givenIn(form) === given) form.reset(); // the next text may be half typed
      show(one);
    } catch (error) {
      if (searches.current === own) setAnswer({ problem: messageOf(error) });
    }
  };
  return (
    <search class="find">
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const given = givenIn(form);
          if (given !== "") void find(given, form);
        }}
      >
        <label>
          <span class="unseen">Find anything</span>
          <input
            name="text"
            autocomplete="off"
            maxLength={300}
            placeholder="Id, number, campaign, agent or client"
          />
        </label>
        <button type="submit">Find</button>
      </form>
      <div class="found" aria-live="polite">
        {problem === undefined ? null : <p class="problem">{problem}</p>}
        {text === undefined || searched === undefined ? null : (
          <Choice text={text} searched={searched} close={() => setAnswer({})} />
        )}
      </div>
    </search>
  );
}

function givenIn(form: HTMLFormElement): string {
  return textIn(new FormData(form), "text");
}

/** Returns the number that a text is read as; undefined if it is none. */
async function numberIn(text: string, ask: Ask): Promise<string | undefined> {
  const read = (await loadNumberReader(ask)).readOne(text);
  return "reason" in read ? undefined : read.number;
}

/** Several things of one name to choose from, or what else may be done where there is none. */
function Choice({
  text,
  searched: { found: exact, suggested, number },
  close,
}: {
  text: string;
  searched: Searched;
  close(): void;
}) {
  // The box stands outside of the views, which alone know the roles.
  const { data: me } = useLive<Me>("/me", rolesMs);
  const lacksRole = me !== undefined && !me.roles.includes("find");
  const found = exact.length > 0 ? exact : suggested;
  if (found.length > 0) {
    return (
      <ul class="line plain" aria-label={exact.length > 0 ? "Found" : "Did you mean"}>
        {exact.length > 0 ? null : <li class="hint">Did you mean</li>}
        {found.map((one) => (
          <li key={`${one.kind} ${one.id}`}>
            <a
              href={viewOf(one)}
              onClick={() => {
                seekNumber(one.kind === "number" ? one.id : "");
                close();
              }}
            >
              {one.kind} {one.id}
            </a>
          </li>
        ))}
      </ul>
    );
  }
  if (number !== null && lacksRole) {
    return <p>Your token may not look up numbers: it lacks the role find.</p>;
  }
  if (number !== null) {
    const isWhole = /^\s*(tel:)?\s*(\+|00)/i.test(text);
    const hint = isWhole ? "" : " If it is of another country, write + and its code.";
    return (
      <p>
        There is no call to {number}.{hint}
      </p>
    );
  }
  return (
    <p class="line">
      Nothing has this id or name
      {mayBeNumber(text)
        ? ", and it is no phone number. One of another country begins with + and its code"
        : ""}
      .
      {mayBeNumber(text) ? null : (
        <a href={addressOf("calls", { provider_call_id: text })} onClick={close}>
          Look through all calls for a provider's call id
        </a>
      )}
    </p>
  );
}
