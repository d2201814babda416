import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { PickAccount, PickArm, PickCampaign, PickClient } from "./pick.tsx";

/** A form of filters behind a button. What can be chosen in it is read once somebody opens it. */
export function Filters({
  count,
  isUsed = count > 0,
  search,
  children,
}: {
  /** Number of fields in use. */
  count: number;
  isUsed?: boolean;
  search(form: FormData): void;
  children: ComponentChildren;
}) {
  const [isOpen, setIsOpen] = useState(isUsed);
  useEffect(() => {
    if (isUsed) setIsOpen(true);
  }, [isUsed]);
  return (
    <details
      class="filters"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary>{count === 0 ? "Filters" : `Filters: ${count}`}</summary>
      {isOpen ? (
        <form
          class="line"
          onSubmit={(event) => {
            event.preventDefault();
            search(new FormData(event.currentTarget));
          }}
        >
          {children}
          <button type="submit">Search</button>
        </form>
      ) : null}
    </details>
  );
}

/** The fields of names that can be chosen. */
const picks: Readonly<Record<string, typeof PickClient>> = {
  client: PickClient,
  campaign: PickCampaign,
  agent_id: PickArm,
  account: PickAccount,
};

/** A field of a filter. */
export function FilterField(of: {
  name: string;
  label: string;
  value?: string | undefined;
  isRequired?: boolean;
}) {
  const { name, label, value } = of;
  const Chosen = picks[name];
  if (Chosen !== undefined) return <Chosen key={value} {...of} />;
  return (
    <label>
      {label}
      <input key={value} name={name} defaultValue={value} autocomplete="off" />
    </label>
  );
}
