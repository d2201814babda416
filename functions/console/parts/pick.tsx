import { useEffect, useId, useRef } from "preact/hooks";
import type { Campaigns, PlanTexts } from "#shared/answers/answers.ts";
import { agentNamesOf } from "#shared/leads/agent-names.ts";
import { useLive } from "./desk.tsx";
import { type Sender, useSenders } from "./senders.tsx";

/** Something that can be chosen. */
interface Option {
  value: string;
  /** Name for people, if that is another one. */
  name?: string;
}

/** Maximum options that a list shows at once. More are searched by their names. */
const listedMax = 12;

interface Props {
  label: string;
  options: readonly Option[];
  name?: string;
  /** The chosen value, if the form around does not keep it. */
  value?: string | undefined;
  choose?(value: string): void;
  isRequired?: boolean;
  /** True if a value may be typed that is no option, such as a new campaign. */
  isFree?: boolean;
  /** Name of choosing nothing, where that is possible. */
  none?: string;
  maxLength?: number;
}

/** A field to choose one of several: a list of few, or a search in many by any part of their names. */
export function Pick(props: Props) {
  const { options, isFree = false } = props;
  return isFree || options.length > listedMax ? <Sought {...props} /> : <Listed {...props} />;
}

function Listed({ label, options, name, value, choose, isRequired, none }: Props) {
  return (
    <label>
      {label}
      <select
        name={name}
        required={isRequired}
        value={value}
        onChange={(event) => choose?.(event.currentTarget.value)}
      >
        {none === undefined ? null : <option value="">{none}</option>}
        {options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.name ?? one.value}
          </option>
        ))}
      </select>
    </label>
  );
}

function Sought(props: Props) {
  const { label, options, name, value = "", choose, isRequired, isFree = false, none } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  /** Has the value for the form, as the field shows its name. */
  const hidden = useRef<HTMLInputElement>(null);
  const named = (of: string) => options.find((one) => one.value === of)?.name ?? of;
  const shown = named(value);
  // The field shows a value that was chosen elsewhere, as by an address.
  useEffect(() => {
    if (input.current !== null) input.current.value = shown;
    if (hidden.current !== null) hidden.current.value = value;
  }, [shown, value]);
  const take = (field: HTMLInputElement) => {
    const text = field.value.trim();
    const found = options.find((one) => (one.name ?? one.value) === text || one.value === text);
    const isKnown = found !== undefined || text === "" || isFree;
    field.setCustomValidity(isKnown ? "" : "Choose one from the list.");
    if (!isKnown) return;
    if (hidden.current !== null) hidden.current.value = found?.value ?? text;
    choose?.(found?.value ?? text);
  };
  return (
    <label>
      {label}
      <input
        ref={input}
        list={id}
        required={isRequired}
        autocomplete="off"
        placeholder={none}
        maxLength={props.maxLength}
        pattern={isFree ? "\\S.*" : undefined}
        defaultValue={shown}
        onInput={(event) => take(event.currentTarget)}
        onFocus={(event) => event.currentTarget.select()}
      />
      {name === undefined ? null : <input ref={hidden} type="hidden" name={name} />}
      <datalist id={id}>
        {options.map((one) => (
          <option key={one.value} value={one.name ?? one.value} />
        ))}
      </datalist>
    </label>
  );
}

/** Interval at which what can be chosen is read again. */
const optionsMs = 5 * 60_000;

const toOptions = (values: readonly string[]) => [...new Set(values)].map((value) => ({ value }));

/** Returns the plan, as far as it was read. */
export function usePlan(): PlanTexts | undefined {
  return useLive<PlanTexts>("/plan", optionsMs).data;
}

type Named = Omit<Props, "options">;

/** A field for an agent of the plan. One that the plan does not name may be typed too. */
export function PickAgent(props: Named) {
  const plan = usePlan();
  const agents = plan === undefined ? [] : agentNamesOf(plan);
  return <Pick {...props} isFree options={toOptions(agents.filter((agent) => agent !== "*"))} />;
}

/** A field for an agent that calls have: not a split, whose calls have their arms. */
export function PickArm(props: Named) {
  const agents = usePlan()?.agents.map(({ agent_id }) => agent_id) ?? [];
  return <Pick {...props} isFree options={toOptions(agents.filter((agent) => agent !== "*"))} />;
}

/** A field for a campaign of the last month. A new one may be typed too. */
export function PickCampaign(props: Named) {
  const { data } = useLive<Campaigns>("/campaigns?limit=50", optionsMs);
  return (
    <Pick {...props} isFree options={toOptions(data?.campaigns.map((one) => one.name) ?? [])} />
  );
}

/** A field for any client. One that has no token any more may be typed too. */
export function PickClient(props: Named) {
  const clients = useSenders()?.map(({ client }) => client) ?? [];
  return <Pick {...props} isFree options={toOptions(clients)} />;
}

/** A field for an account of the plan. */
export function PickAccount(props: Named) {
  const accounts = usePlan()?.accounts.map(({ account }) => account) ?? [];
  return <Pick {...props} isFree options={toOptions(accounts)} />;
}

/** A field for the client whose calls are placed: one with a valid token that may place calls, of the agent if one is given. */
export function PickSender({
  senders = [],
  agent,
}: {
  senders: readonly Sender[] | undefined;
  agent?: string;
}) {
  const options = senders
    .filter(({ agents }) => agent === undefined || agents.includes("*") || agents.includes(agent))
    .map(({ client, is_test }) => ({
      value: client,
      ...(is_test && { name: `${client} (phones nobody)` }),
    }));
  return <Pick label="Client" name="client" isRequired options={options} />;
}
