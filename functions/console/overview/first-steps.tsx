import { useEffect, useState } from "preact/hooks";
import type { CallsPage, PlanTexts } from "#shared/answers/answers.ts";
import { addressOf } from "../data/address.ts";
import { useDesk, useLive } from "../parts/desk.tsx";
import { toShellWord } from "#shared/lib/shell-word.ts";
import { divideLeads } from "#shared/leads/divide-leads.ts";
import { createFictitiousLeads } from "#shared/leads/fictitious-leads.ts";
import { sendLeads } from "#shared/leads/send-leads.ts";
import { PickSender } from "../parts/pick.tsx";
import { sendingTo, useSenders } from "../parts/senders.tsx";
import { textIn } from "../parts/shared.tsx";

const campaign = "simulated";
/** Name for an agent that only a plan's `*` knows. */
const anyAgent = "agent_demo";

/** Intervals of reading whether there is a call, and of the plan. */
const refreshMs = 30_000;
const planRefreshMs = 60_000;

/** First steps, shown until there is a call: a request to paste, a file of leads, a simulated campaign. */
export function FirstSteps() {
  // Once there is a call, there is nothing more to ask.
  const [isOver, setIsOver] = useState(false);
  const { data: calls } = useLive<CallsPage>(isOver ? undefined : "/calls?limit=1", refreshMs);
  const isEmpty = calls?.calls.length === 0;
  const { data: plan } = useLive<PlanTexts>(isEmpty ? "/plan" : undefined, planRefreshMs);
  useEffect(() => {
    if (calls !== undefined && !isEmpty) setIsOver(true);
  }, [calls, isEmpty]);
  if (isOver || !isEmpty || plan === undefined) return null;
  const named = plan.agents.find(({ agent_id }) => agent_id !== "*");
  const simulated = findSimulated(plan);
  return (
    <section class="card" aria-labelledby="first-steps">
      <h3 id="first-steps">First steps</h3>
      <p>There is no call yet.</p>
      <h4>Send one call</h4>
      <p>
        Set a client's token, <code>export TOKEN=…</code> (<code>npm run token</code> makes one),
        and paste:
      </p>
      <pre class="scroll" tabIndex={0} role="region" aria-label="A request to paste">
        <code>{curlLine(simulated ?? named?.agent_id ?? anyAgent)}</code>
      </pre>
      <h4>Send a list</h4>
      <p>
        A CSV or JSON of leads: <a href={addressOf("send")}>choose the file</a>.
      </p>
      {simulated === undefined ? null : <Simulation agentId={simulated} />}
    </section>
  );
}

/** Returns an agent whose calls go to the simulator; undefined if there is none. */
function findSimulated({ agents }: PlanTexts): string | undefined {
  const found = agents.find(({ provider }) => provider === "simulator")?.agent_id;
  return found === "*" ? anyAgent : found;
}

/** Returns a request that a shell sends to this page's own service. */
function curlLine(agentId: string): string {
  const address = `${location.origin}${location.pathname.replace(/\/operator\/*$/, "")}`;
  const call = { phone_number: "+12025550123", agent_id: agentId, timezone: "America/New_York" };
  const body = toShellWord(JSON.stringify(call));
  return `curl -i ${address}/v1/calls -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d ${body}`;
}

/** Form that sends a campaign to the simulator. */
function Simulation({ agentId }: { agentId: string }) {
  const { attempt, postFor } = useDesk();
  const senders = useSenders();
  const [isSending, setIsSending] = useState(false);
  const send = async (client: string) => {
    setIsSending(true);
    try {
      const leads = createFictitiousLeads(agentId);
      const numbers = leads.map(({ call }) => call.phone_number);
      const divided = await divideLeads({ leads, numbers });
      const sending = { ...divided, campaign, leftOut: new Set<string>() };
      const { calls } = await sendLeads(sending, () => undefined, sendingTo(postFor(client)));
      return `${calls} simulated calls are accepted as campaign ${campaign}.`;
    } finally {
      setIsSending(false);
    }
  };
  return (
    <>
      <h4>Simulate a campaign</h4>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          const client = textIn(new FormData(event.currentTarget), "client");
          if (!isSending) attempt(() => send(client));
        }}
      >
        <PickSender senders={senders} agent={agentId} />
        <button type="submit" disabled={isSending}>
          Send 100 simulated calls
        </button>
      </form>
      <p class="hint">
        The plan dials agent {agentId} by the simulator: nobody is phoned. The numbers are
        fictitious.
      </p>
    </>
  );
}
