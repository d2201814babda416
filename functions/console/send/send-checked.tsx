import { useRef, useState } from "preact/hooks";
import type { FoundFile } from "#shared/answers/answers.ts";
import { messageOf, useDesk } from "../parts/desk.tsx";
import { ForecastAnswer } from "../forecast/forecast-answer.tsx";
import { askForClient } from "#shared/leads/ask-client-api.ts";
import { checkLeads, findUnsent } from "#shared/leads/check-leads.ts";
import { divideLeads } from "#shared/leads/divide-leads.ts";
import type { LeadsRead } from "#shared/leads/read-leads.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import type { Reader } from "../parts/load-reader.ts";
import { PickCampaign, PickSender } from "../parts/pick.tsx";
import { sendingTo, type Sender, useSenders } from "../parts/senders.tsx";
import { RefusedRows } from "./send-rows.tsx";
import { type CheckedLeads, SendThese, useChoices } from "./send-these.tsx";
import { countText, textIn } from "../parts/shared.tsx";

/** Asks for the campaign and the client, checks the leads with the service, and offers to send them. */
export function CheckAndSend({
  reader,
  table,
  read,
}: {
  reader: Reader;
  table: LeadTable;
  read: LeadsRead;
}) {
  const senders = useSenders();
  const { checked, doing, problem, check, forget } = useCheck(read, senders);
  return (
    <>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void check(new FormData(event.currentTarget));
        }}
        onInput={forget}
      >
        <h3>The campaign</h3>
        <div class="line">
          <PickCampaign label="Name of the campaign" name="campaign" isRequired maxLength={64} />
          <PickSender senders={senders} />
          <button type="submit" disabled={doing !== undefined || senders === undefined}>
            Check these leads
          </button>
        </div>
        <p class="hint">
          Choose a client with a valid token that may place calls. Its agents, limits and records of
          sent lists apply. Nothing is sent yet.
        </p>
        {doing === undefined ? null : <p class="hint">{doing}</p>}
        {problem === undefined ? null : <p class="problem">{problem}</p>}
      </form>
      {checked === undefined ? null : <Answers reader={reader} table={table} checked={checked} />}
    </>
  );
}

/** Checks leads for a client and a campaign. Another choice makes other leads, which were not checked. */
function useCheck(read: LeadsRead, senders: readonly Sender[] = []) {
  const { leads } = read;
  const { ask, postFor, say } = useDesk();
  const [checked, setChecked] = useState<CheckedLeads>();
  const [doing, setDoing] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const current = useRef({ leads, asked: 0 });
  if (current.current.leads !== leads) current.current = { leads, asked: 0 };
  const forget = () => {
    current.current.asked += 1;
    setChecked(undefined);
  };
  const check = async (form: FormData) => {
    const [campaign, name] = [textIn(form, "campaign"), textIn(form, "client")];
    const sender = senders.find(({ client }) => client === name);
    forget();
    if (sender === undefined) return;
    const { asked } = current.current;
    const isCurrent = () => current.current.leads === leads && current.current.asked === asked;
    setProblem(undefined);
    try {
      setDoing("Checking …");
      const divided = await divideLeads(read);
      const body = { file: divided.file };
      const { client } = sender;
      const sending = sendingTo(postFor(client));
      const { sent } = await askForClient<FoundFile>("/sent-files/find", body, sending);
      const { parts } = divided;
      const progress = (done: number) => setDoing(`Checking … ${done} of ${parts.length} parts`);
      const answers = await checkLeads({ parts, client }, progress, ask);
      if (!isCurrent()) return;
      setChecked({ sender, sent, ...answers, divided, leads, campaign });
      say(`${countText(leads.length - answers.leftOut.length)} leads may be sent.`);
    } catch (error) {
      setProblem(messageOf(error));
      say("The leads were not checked.");
    } finally {
      setDoing(undefined);
    }
  };
  return { checked: checked?.leads === leads ? checked : undefined, doing, problem, check, forget };
}

function Answers({
  reader,
  table,
  checked,
}: {
  reader: Reader;
  table: LeadTable;
  checked: CheckedLeads;
}) {
  const { divided, leftOut, forecasts, sent } = checked;
  const choices = useChoices();
  const { isAgain, lost } = choices;
  const { parts } = divided;
  const unsent = findUnsent({ parts, leftOut }, { sent: isAgain ? null : sent, lost });
  const cells = new Map(table.rows.map((row) => [row.line, row.cells]));
  const refused = unsent.map(({ lead: { line }, reason }) => ({
    line,
    reason,
    cells: cells.get(line) ?? [],
    isDuplicate: false,
  }));
  const [first] = forecasts;
  return (
    <>
      <RefusedRows reader={reader} table={table} refused={refused} of="the service" />
      {forecasts.length < 2 ? null : (
        <p class="hint">
          The leads are sent in {parts.length} requests. Below is the forecast of the first one
          alone: calls of the others wait behind it.
        </p>
      )}
      {first === undefined ? null : <ForecastAnswer {...first} />}
      <SendThese checked={checked} count={checked.leads.length - unsent.length} choices={choices} />
    </>
  );
}
