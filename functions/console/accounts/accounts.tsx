import type {
  BacklogView,
  Backlogs,
  HolderView,
  PauseView,
  Pauses,
  PlanTexts,
  Why,
} from "#shared/answers/answers.ts";
import { useRef, useState } from "preact/hooks";
import { breakerName } from "#shared/rules/texts.ts";
import { addressOf } from "../data/address.ts";
import { BreakerText } from "./breaker.tsx";
import { Shown, useDesk, useLive, WithRole } from "../parts/desk.tsx";
import { AskPause, nameOf, type Pausable, PauseButton } from "../parts/pause.tsx";
import { Export } from "../parts/export.tsx";
import { FilterField } from "../parts/filters.tsx";
import { Age, countText, Fact, Table, textIn, Time } from "../parts/shared.tsx";
import { WaitingClients } from "./waiting-clients.tsx";
import { Held, usedText, useWhy } from "../parts/why.tsx";
import { SplitsOfPlan } from "./splits.tsx";

/** All is read at the interval of why calls wait: an account's limits beside its calls are of the same time. */
const refreshMs = 20_000;

/** The accounts and agents of the plan: paces, breakers, pauses, waiting calls, and the plan's rules in words. */
export function Accounts() {
  const plan = useLive<PlanTexts>("/plan", refreshMs);
  const pauses = useLive<Pauses>("/pauses", refreshMs);
  const why = useWhy();
  const backlogs = useLive<Backlogs>("/backlogs?limit=20", refreshMs);
  return (
    <>
      <section class="card" aria-labelledby="trouble">
        <h3 id="trouble">Paused</h3>
        <Shown live={pauses} what="Pauses and circuit breakers">
          {(data) => <Stopped pauses={data} />}
        </Shown>
      </section>
      <Shown live={plan} what="The dial plan">
        {(data) => (
          <>
            <AccountTable plan={data} pauses={pauses.data} why={why.data} />
            <AgentTable plan={data} pauses={pauses.data} />
            <SplitsOfPlan plan={data} />
            <Rules plan={data} />
          </>
        )}
      </Shown>
      <section class="card" aria-labelledby="waiting">
        <h3 id="waiting">Waiting calls by agent and client</h3>
        <Shown live={backlogs} what="The backlogs">
          {(data) => (
            <>
              <WaitingClients backlogs={data} pauses={pauses.data} />
              <BacklogTable backlogs={data} />
            </>
          )}
        </Shown>
      </section>
    </>
  );
}

function Stopped({ pauses: data }: { pauses: Pauses }) {
  const { ask, attempt } = useDesk();
  const { pauses, breakers, other_agents } = data;
  const ended = useEnded(pauses);
  return (
    <>
      {pauses.length + breakers.length === 0 ? <p>Nothing is paused.</p> : null}
      <ul class="rows">
        {pauses.map((pause) => (
          <li key={nameOf(pause)}>
            <span>
              <b>{nameOf(pause)}</b>, by {pause.by} since <Time at={pause.at} />
              {pause.until === null ? null : (
                <>
                  , until <Time at={pause.until} />
                </>
              )}
              {pause.reason === null ? null : <span class="hint"> {pause.reason}</span>}
            </span>
            <PauseButton what={pause} pauses={data} />
          </li>
        ))}
        {ended.map((pause) => (
          <li key={nameOf(pause)}>
            <span>
              <b>{nameOf(pause)}</b>, by {pause.by} until <Time at={pause.until} />: it has ended
            </span>
          </li>
        ))}
        {breakers.map((breaker) => (
          <li key={breaker.key}>
            <BreakerText breaker={breaker} />
            <WithRole role="decide">
              <button
                type="button"
                onClick={() =>
                  attempt(async () => {
                    await ask("/resume", { breaker: breaker.key });
                    return `Resumed: the circuit breaker ${breakerName(breaker.key)}.`;
                  })
                }
              >
                Resume <span class="unseen">the circuit breaker {breakerName(breaker.key)}</span>
              </button>
            </WithRole>
          </li>
        ))}
      </ul>
      <WithRole role="decide">
        <PauseByName hasOtherAgents={other_agents} />
      </WithRole>
    </>
  );
}

/** Returns the pauses of this view that have ended. The answer no longer contains them. */
function useEnded(pauses: readonly PauseView[]): PauseView[] {
  const seen = useRef(new Map<string, PauseView>());
  const current = new Set(pauses.map(nameOf));
  for (const pause of pauses) seen.current.set(nameOf(pause), pause);
  for (const [name, { until }] of seen.current) {
    const isOver = until !== null && Date.parse(until) <= Date.now();
    // Somebody has resumed it before its end.
    if (!current.has(name) && !isOver) seen.current.delete(name);
  }
  return [...seen.current.values()].filter((pause) => !current.has(nameOf(pause)));
}

/** Asks before it pauses a client, or an agent that the plan does not name. */
function PauseByName({ hasOtherAgents }: { hasOtherAgents: boolean }) {
  const [asked, setAsked] = useState<Pausable>();
  const fields = [
    { field: "client", label: "Client", verb: "Pause this client" },
    { field: "agent_id", label: "Agent that the plan does not name", verb: "Pause this agent" },
  ];
  return (
    <>
      {fields.slice(0, hasOtherAgents ? 2 : 1).map(({ field, label, verb }) => (
        <form
          key={field}
          class="line"
          onSubmit={(event) => {
            event.preventDefault();
            setAsked({ [field]: textIn(new FormData(event.currentTarget), field) });
          }}
        >
          <FilterField name={field} label={label} isRequired />
          <button type="submit">{verb} …</button>
        </form>
      ))}
      {asked === undefined ? null : <AskPause what={asked} close={() => setAsked(undefined)} />}
    </>
  );
}

function AccountTable({
  plan,
  pauses,
  why,
}: {
  plan: PlanTexts;
  pauses: Pauses | undefined;
  why: Why | undefined;
}) {
  return (
    <section class="card" aria-labelledby="accounts">
      <h3 id="accounts">Accounts</h3>
      <Table
        label="Accounts and their pace"
        columns={["Account", "Pause or resume", "Waiting", "Why", "Pace", "Dialing", "Limits"]}
      >
        {plan.accounts.map(({ account, name, provider, pace, dialing, taken_until, limits }) => {
          const now = why?.accounts.find((one) => one.name === name);
          return (
            <tr key={name}>
              <th scope="row">
                <a href={addressOf("calls", { account })}>{account}</a>
                {name !== account || provider !== account ? (
                  <span class="hint"> {name === account ? provider : name}</span>
                ) : null}
              </th>
              <td>
                <PauseButton what={{ account }} pauses={pauses} />
              </td>
              <td class="figure">{why === undefined ? "…" : countText(now?.calls ?? 0)}</td>
              <td class="texts">
                <Holders holders={now?.holders ?? []} />
              </td>
              <td class="texts">
                {pace}
                {taken_until === null || Date.parse(taken_until) <= Date.now() ? null : (
                  <span class="hint">
                    {" "}
                    fully used, free <Age at={taken_until} />
                  </span>
                )}
                {now?.seen_pace == null ? null : (
                  <span class="hint"> seen to take {now.seen_pace}</span>
                )}
              </td>
              <td class="figure">{countText(dialing)}</td>
              <td class="texts">
                <Limits limits={limits} />
              </td>
            </tr>
          );
        })}
      </Table>
    </section>
  );
}

/** The holders of calls, each with its number of calls if there are several. */
function Holders({ holders }: { holders: readonly HolderView[] | null }) {
  if (holders === null) return <>not known</>;
  return (
    <>
      {holders.map(({ reason, name, calls }) => (
        <span class="block" key={`${reason} ${name}`}>
          {holders.length === 1 ? null : `${countText(calls)}: `}
          <Held reason={reason} name={name} />
        </span>
      ))}
    </>
  );
}

function Limits({ limits }: { limits: PlanTexts["accounts"][number]["limits"] }) {
  if (limits.length === 0) return <>none</>;
  return (
    <>
      {limits.map((one) => (
        <span class="block" key={one.reason}>
          {usedText(one)}
          {one.oldest_at === null ? null : (
            <>
              , oldest <Age at={one.oldest_at} />
            </>
          )}
        </span>
      ))}
    </>
  );
}

function AgentTable({ plan, pauses }: { plan: PlanTexts; pauses: Pauses | undefined }) {
  return (
    <section class="card" aria-labelledby="agents">
      <h3 id="agents">Agents</h3>
      <Table
        label="Agents and their hours"
        columns={["Agent", "Pause or resume", "Account", "Hours", "Calls to a number"]}
      >
        {plan.agents.map(({ agent_id, account, hours, calls, checks }) => {
          return (
            <tr key={agent_id}>
              <th scope="row">
                {agent_id === "*" ? (
                  "every other agent"
                ) : (
                  <a href={addressOf("calls", { agent_id })}>{agent_id}</a>
                )}
              </th>
              <td>
                {agent_id === "*" ? null : <PauseButton what={{ agent_id }} pauses={pauses} />}
              </td>
              <td>
                {account}
                {checks.length === 0 ? null : (
                  <span class="hint"> after the checks {checks.join(", ")}</span>
                )}
              </td>
              <td class="texts">{hours}</td>
              <td class="texts">{calls ?? "no separate limit"}</td>
            </tr>
          );
        })}
      </Table>
    </section>
  );
}

function Rules({ plan }: { plan: PlanTexts }) {
  return (
    <section class="card" aria-labelledby="rules">
      <h3 id="rules">Rules for all agents</h3>
      <dl>
        {plan.rules.map(({ destination, hours, calls }) => (
          <Fact key={destination} name={destination}>
            {[hours, calls].filter((text) => text !== null).join("; ")}
          </Fact>
        ))}
        <Fact name="may be called">{plan.destinations}</Fact>
        {plan.blackout_dates.length === 0 ? null : (
          <Fact name="nobody is called on">{plan.blackout_dates.join(", ")}</Fact>
        )}
        <Fact name="time zone of numbers without one">
          {plan.default_time_zone ?? "none: such a call must name its own"}
        </Fact>
        <Fact name="not dialed in time">EXPIRED after {plan.expire_after_hours} hours</Fact>
        <Fact name="unknown outcome">
          looked up for {plan.review_after_seconds} s, then needs review
        </Fact>
        <Fact name="kept for">{plan.retention_days} days</Fact>
      </dl>
    </section>
  );
}

function BacklogTable({ backlogs: { backlogs, cursor } }: { backlogs: Backlogs }) {
  if (backlogs.length === 0) return <p>No call waits.</p>;
  return (
    <>
      <Table
        label="Backlogs"
        columns={["Agent", "Client", "Calls", "Why", "Oldest due", "Account"]}
      >
        {backlogs.map((backlog) => (
          <Row
            key={JSON.stringify([backlog.client, backlog.agent_id, backlog.urgent])}
            backlog={backlog}
          />
        ))}
      </Table>
      {cursor === undefined ? null : (
        <p class="hint">There are more: npm run calls -- backlogs --limit 1000 lists them.</p>
      )}
      <Export of="backlogs" />
    </>
  );
}

function Row({ backlog }: { backlog: BacklogView }) {
  const { client, agent_id, urgent, account, head, waiting, holders } = backlog;
  return (
    <tr>
      <th scope="row">
        <a href={addressOf("calls", { state: "WAITING", agent_id })}>{agent_id}</a>
        {urgent ? " (urgent)" : ""}
      </th>
      <td>{client}</td>
      <td class="figure">{`${countText(waiting)}${backlog.waiting_is_whole ? "" : "+"}`}</td>
      <td class="texts">
        <Holders holders={holders} />
      </td>
      <td>
        <Age at={head.due_at} />
      </td>
      <td>{account ?? "none"}</td>
    </tr>
  );
}
