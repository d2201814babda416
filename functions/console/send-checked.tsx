import { useRef, useState } from "preact/hooks";
import type { ClientMe, FoundFile } from "../../shared/answers/answers.ts";
import { createSending } from "./client-posts.ts";
import { messageOf, useDesk } from "./desk.tsx";
import { ForecastAnswer } from "./forecast-answer.tsx";
import { askAsClient } from "../../shared/leads/ask-client-api.ts";
import { checkLeads } from "../../shared/leads/check-leads.ts";
import { divideLeads } from "../../shared/leads/divide-leads.ts";
import type { Lead } from "../../shared/leads/read-leads.ts";
import type { LeadTable } from "../../shared/leads/lead-table.ts";
import type { Reader } from "./load-reader.ts";
import { RefusedRows } from "./send-rows.tsx";
import { type CheckedLeads, SendThese } from "./send-these.tsx";
import { countText, textIn } from "./shared.tsx";

/** Asks for the campaign and the client's token, checks the leads with the service, and offers to send them. */
export function CheckAndSend({
  reader,
  table,
  leads,
}: {
  reader: Reader;
  table: LeadTable;
  leads: readonly Lead[];
}) {
  const { checked, doing, problem, check, forget } = useCheck(leads);
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
          <label>
            Name of the campaign
            <input name="campaign" required maxLength={64} pattern="\S.*" autocomplete="off" />
          </label>
          <label>
            Token of the client
            <input name="token" type="password" required autocomplete="off" />
          </label>
          <button type="submit" disabled={doing !== undefined}>
            Check these leads
          </button>
        </div>
        <p class="hint">
          The name has letters, digits and signs of ASCII. The token is that of the client whose
          calls these are. It stays in this view until you leave it. Nothing is sent yet.
        </p>
        {doing === undefined ? null : <p class="hint">{doing}</p>}
        {problem === undefined ? null : <p class="problem">{problem}</p>}
      </form>
      {checked === undefined ? null : <Answers reader={reader} table={table} checked={checked} />}
    </>
  );
}

/** Checks leads for a client and a campaign. Another choice makes other leads, which were not checked. */
function useCheck(leads: readonly Lead[]) {
  const { ask, say } = useDesk();
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
    const [campaign, token] = [textIn(form, "campaign"), textIn(form, "token")];
    forget();
    const { asked } = current.current;
    const isCurrent = () => current.current.leads === leads && current.current.asked === asked;
    setProblem(undefined);
    try {
      setDoing("Checking …");
      const divided = await divideLeads(leads);
      const body = { file: divided.file };
      const sending = createSending(token);
      const me = await askAsClient<ClientMe>("/v1/me", undefined, sending);
      const { sent } = await askAsClient<FoundFile>("/v1/sent-files/find", body, sending);
      const { parts } = divided;
      const progress = (done: number) => setDoing(`Checking … ${done} of ${parts.length} parts`);
      const answers = await checkLeads({ parts, client: me.calls_as }, progress, ask);
      if (!isCurrent()) return;
      setChecked({ me, sent, ...answers, divided, leads, campaign, token });
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
  const { leftOut, forecasts } = checked;
  const cells = new Map(table.rows.map((row) => [row.line, row.cells]));
  const refused = leftOut.map(({ lead: { line }, reason }) => ({
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
          The leads are sent in {checked.divided.parts.length} requests. Below is the forecast of
          the first one alone: calls of the others wait behind it.
        </p>
      )}
      {first === undefined ? null : <ForecastAnswer answer={first} />}
      <SendThese checked={checked} />
    </>
  );
}
