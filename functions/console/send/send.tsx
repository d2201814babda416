import { useEffect, useState } from "preact/hooks";
import type { PlanTexts } from "#shared/answers/answers.ts";
import type { GuessedColumns } from "#shared/leads/columns.ts";
import type { LeadsRead } from "#shared/leads/read-leads.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import { messageOf, useDesk } from "../parts/desk.tsx";
import { type Reader, useReader } from "../parts/load-reader.ts";
import { agentNamesOf } from "#shared/leads/agent-names.ts";
import { Pick, PickAgent, usePlan } from "../parts/pick.tsx";
import { Columns } from "./send-columns.tsx";
import { CheckAndSend } from "./send-checked.tsx";
import { Preview, RefusedRows } from "./send-rows.tsx";
import { countryName } from "../data/number-reader.ts";
import { counted } from "../parts/shared.tsx";

/** A file of leads that was read, and what its columns mean, as it was guessed or chosen. */
interface Opened extends GuessedColumns {
  name: string;
  table: LeadTable;
}

/** Sends a file of leads as one campaign: the file, what its columns mean, checks, forecast, and sending. */
export function Send() {
  const { ask, say } = useDesk();
  const reader = useReader();
  const [opened, setOpened] = useState<Opened>();
  const [chosen, setCountry] = useState<string>();
  const plan = usePlan();
  const country = chosen ?? plan?.default_country ?? "";
  const [agent, setAgent] = useState("");
  const [problem, setProblem] = useState<string>();
  const read = useLeads(reader, { opened, country, agent });
  const open = async (file: File | undefined) => {
    setOpened(undefined);
    setProblem(undefined);
    if (file === undefined || reader === undefined) return;
    try {
      const table = reader.readTable(new Uint8Array(await file.arrayBuffer()));
      const guessed = reader.guessColumns(table, agentNamesOf(await ask<PlanTexts>("/plan")));
      setOpened({ name: file.name, table, ...guessed });
      say(`${file.name} has ${counted(table.rows.length, "row")}.`);
    } catch (error) {
      setProblem(messageOf(error));
      say("The file cannot be read.");
    }
  };
  return (
    <>
      <section class="card" aria-labelledby="file">
        <h3 id="file">The leads</h3>
        {reader === undefined ? <p class="hint">Loading …</p> : <DropLeads open={open} />}
        {problem === undefined ? null : <p class="problem">{problem}</p>}
        {opened === undefined || reader === undefined ? null : (
          <>
            <p>
              {opened.name}: {opened.table.form}.
            </p>
            <div class="line">
              <CountryField reader={reader} plan={plan} country={country} choose={setCountry} />
              <PickAgent label="Agent of rows that name none" value={agent} choose={setAgent} />
            </div>
            <Columns
              table={opened.table}
              guessed={opened}
              choose={(roles) => setOpened({ ...opened, roles })}
            />
          </>
        )}
      </section>
      {opened === undefined || reader === undefined ? null : (
        <Rows reader={reader} opened={opened} agent={agent} read={read} />
      )}
    </>
  );
}

/** Reads the leads again when a choice changes. Undefined while they are read; an error as the words for it. */
function useLeads(
  reader: Reader | undefined,
  { opened, country, agent }: { opened: Opened | undefined; country: string; agent: string },
): LeadsRead | string | undefined {
  const [read, setRead] = useState<{ of: Opened; read: LeadsRead | string }>();
  useEffect(() => {
    setRead(undefined);
    if (reader === undefined || opened === undefined) return undefined;
    let isCurrent = true;
    const pause = async () => {
      await new Promise((drawn) => setTimeout(drawn, 0));
      if (!isCurrent) throw new Error("another choice was made");
    };
    const choices = { roles: opened.roles, country: country || undefined, agent };
    const show = (one: LeadsRead | string) => isCurrent && setRead({ of: opened, read: one });
    // A pause first, so that a name that is typed is read once.
    const timer = setTimeout(() => {
      void reader.readLeads(opened.table, choices, pause).then(show, (error: unknown) => {
        show(messageOf(error));
      });
    }, 200);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [reader, opened, country, agent]);
  return read?.of === opened ? read?.read : undefined;
}

function Rows({
  reader,
  opened: { table, roles },
  agent,
  read,
}: {
  reader: Reader;
  opened: Opened;
  agent: string;
  read: LeadsRead | string | undefined;
}) {
  if (read === undefined) return <p class="hint">Reading …</p>;
  if (typeof read === "string") return <p class="problem">{read}</p>;
  // Before an agent is named, every row would be refused for it.
  const isNamed = agent.trim() !== "" || roles.includes("agent");
  if (!isNamed) return <p class="card">The file names no agent: name one above.</p>;
  return (
    <>
      <RefusedRows reader={reader} table={table} refused={read.refused} of="the file" />
      <Preview unit={table.unit} leads={read.leads} />
      {read.leads.length === 0 ? null : <CheckAndSend reader={reader} table={table} read={read} />}
    </>
  );
}

/** Field to drop or choose the file of leads. */
function DropLeads({ open }: { open(file: File | undefined): Promise<void> }) {
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
        void open(event.dataTransfer?.files[0]);
      }}
    >
      <label>
        Drop a file of leads here, or choose one: CSV with a line of column names, or JSON
        <input
          type="file"
          accept=".csv,.tsv,.txt,.json,text/csv,application/json"
          onChange={(event) => void open(event.currentTarget.files?.[0])}
        />
      </label>
      <p class="hint">At most 100,000 rows and 50 MB. It stays in this page until you send it.</p>
    </div>
  );
}

/** A field for the country of numbers without a code. Those of the plan come first. */
function CountryField({
  reader,
  plan,
  country,
  choose,
}: {
  reader: Reader;
  plan: PlanTexts | undefined;
  country: string;
  choose(country: string): void;
}) {
  const allowed = plan?.countries ?? [];
  const others = reader.listCountries().map((one) => one.country);
  const named = (codes: readonly string[]) =>
    codes
      .map((value) => ({ value, name: countryName(value) }))
      .toSorted((one, other) => one.name.localeCompare(other.name));
  const rest = others.filter((one) => !allowed.includes(one));
  return (
    <Pick
      label="Country of numbers without a code"
      none="none"
      options={[...named(allowed), ...named(rest)]}
      value={country}
      choose={choose}
    />
  );
}
