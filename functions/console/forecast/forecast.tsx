import { useState } from "preact/hooks";
import type { Forecast as Answer, PlanTexts } from "#shared/answers/answers.ts";
import { agentNamesOf } from "#shared/leads/agent-names.ts";
import { type Ask, messageOf, useDesk } from "../parts/desk.tsx";
import { ForecastAnswer } from "./forecast-answer.tsx";
import { type Reader, useReader } from "../parts/load-reader.ts";
import { PickAgent, PickSender } from "../parts/pick.tsx";
import { useSenders } from "../parts/senders.tsx";
import { counted, textIn, zoneText } from "../parts/shared.tsx";

/** Maximum size of a forecast's request. */
const fileBytesMax = 5 * 1024 * 1024;

/** Forecasts a batch without sending it. The operator drops or chooses a file, of which nothing is kept. */
export function Forecast() {
  const { ask, say } = useDesk();
  const reader = useReader();
  const [file, setFile] = useState<File>();
  const [isAsking, setIsAsking] = useState(false);
  const [answered, setAnswered] = useState<{ answer: Answer; lines?: readonly number[] }>();
  const [problem, setProblem] = useState<string>();
  const forecast = async (form: FormData) => {
    setIsAsking(true);
    setProblem(undefined);
    setAnswered(undefined);
    try {
      if (file === undefined) throw new Error("Choose a file of calls first.");
      const [read, plan] = await Promise.all([
        readCalls(file, { reader, agent: textIn(form, "agent"), ask }),
        jsonIn(fileIn(form, "plan")),
      ]);
      const { calls, lines, refused } = read;
      const at = textIn(form, "at");
      const answer = await ask<Answer>("/forecast", {
        client: textIn(form, "client"),
        calls,
        ...(at === "" ? {} : { at: new Date(at).toISOString() }),
        ...(plan === undefined ? {} : { plan }),
        items: "problems",
      });
      setAnswered({ answer, ...(lines && { lines }) });
      const left = refused === 0 ? "" : ` ${counted(refused, "row")} could not be read.`;
      say(`Forecast of ${counted(answer.calls, "call")}.${left} Nothing was sent.`);
    } catch (error) {
      setProblem(messageOf(error));
      say("There is no forecast.");
    }
    setIsAsking(false);
  };
  return (
    <>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void forecast(new FormData(event.currentTarget));
        }}
      >
        <Drop file={file} choose={setFile} />
        <Circumstances isAsking={isAsking} />
        <p class="hint">Nothing is sent, stored or asked of a provider.</p>
      </form>
      {isAsking ? <p class="hint">Forecasting …</p> : null}
      {problem === undefined ? null : <p class="problem">{problem}</p>}
      {answered === undefined ? null : <ForecastAnswer {...answered} />}
    </>
  );
}

/** Field to drop or choose the file of calls. */
function Drop({ file, choose }: { file: File | undefined; choose(file: File | undefined): void }) {
  const [isOver, setIsOver] = useState(false);
  return (
    <div
      class={isOver ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        choose(event.dataTransfer?.files[0]);
      }}
    >
      <label>
        Drop a file of calls here, or choose one: CSV, or JSON as for POST /v1/calls/batch
        <input
          type="file"
          accept=".csv,.tsv,.txt,.json,text/csv,application/json"
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      </label>
      <p class="hint">{file === undefined ? "No file yet." : `Chosen: ${file.name}.`}</p>
    </div>
  );
}

/** Fields for the client, the time and the plan of a forecast. */
function Circumstances({ isAsking }: { isAsking: boolean }) {
  const senders = useSenders();
  return (
    <div class="line">
      <PickSender senders={senders} />
      <PickAgent label="Agent of rows that name none" name="agent" />
      <label>
        Sent at (now, if empty; {zoneText()})
        <input name="at" type="datetime-local" />
      </label>
      <label>
        Another dial plan, to compare
        <input name="plan" type="file" accept=".json,application/json" />
      </label>
      <button type="submit" disabled={isAsking}>
        Forecast
      </button>
    </div>
  );
}

function fileIn(form: FormData, name: string): File | undefined {
  const value = form.get(name);
  return value instanceof File && value.size > 0 ? value : undefined;
}

interface CallsRead {
  calls: unknown;
  /** Line of each call in a list. Absent: the file is the array of calls itself. */
  lines?: readonly number[];
  /** Rows that could not be read. */
  refused: number;
}

/** Reads calls as JSON, or as a list of leads like that of Send. @throws an Error for people if they cannot be read */
async function readCalls(
  file: File,
  { reader, agent, ask }: { reader: Reader | undefined; agent: string; ask: Ask },
): Promise<CallsRead> {
  if (/\.json$/i.test(file.name)) return { calls: await jsonIn(file), refused: 0 };
  if (reader === undefined) throw new Error("The reader of lists is not loaded yet: try again.");
  const table = reader.readTable(new Uint8Array(await file.arrayBuffer()));
  const plan = await ask<PlanTexts>("/plan");
  const { roles, doubt } = reader.guessColumns(table, agentNamesOf(plan));
  if (doubt !== undefined) throw new Error(`${doubt.why} Choose the column in the view Send.`);
  const choices = { roles, country: plan.default_country ?? undefined, agent };
  const { leads, refused } = await reader.readLeads(table, choices);
  const lines = leads.map(({ line }) => line);
  return { calls: leads.map(({ call }) => call), lines, refused: refused.length };
}

/** Reads a file of JSON; undefined if there is none. @throws an Error for people if it cannot be read as such */
async function jsonIn(file: File | undefined): Promise<unknown> {
  if (file === undefined) return undefined;
  if (file.size > fileBytesMax) throw new Error(`${file.name} is larger than 5 MiB.`);
  try {
    return JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} is not JSON.`);
  }
}
