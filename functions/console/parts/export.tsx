import { useEffect, useRef, useState } from "preact/hooks";
import type {
  Audit,
  BacklogView,
  CallView,
  Campaigns,
  RequestView,
} from "#shared/answers/answers.ts";
import { type Ask, useDesk } from "./desk.tsx";
import { type Ended, exportRows, type Format, rowsMax } from "../data/export-rows.ts";
import { counted, countText } from "./shared.tsx";

/** The lists that can be exported, and the columns of their CSV. */
const lists = {
  calls: {
    items: "calls",
    limit: "200",
    columns: [
      ...(["id", "state", "reason", "agent_id", "account", "request_id", "client"] as const),
      ...(["campaign", "number_tail", "attempt", "not_before", "urgent", "due_at"] as const),
      ...(["accepted_at", "updated_at", "provider_call_id", "redial_of", "redialed_as"] as const),
    ] satisfies (keyof CallView)[],
    more: ["result.status", "result.seconds", "result.answered_at", "result.ended_at"],
  },
  requests: {
    items: "requests",
    limit: "50",
    columns: [
      ...(["id", "client", "campaign", "accepted_at", "total", "agents", "counted"] as const),
      ...(["queued", "by_state", "by_result", "calls_per_minute", "last_due_at"] as const),
      "expected_end_at",
    ] satisfies (keyof RequestView)[],
    more: [],
  },
  campaigns: {
    items: "campaigns",
    limit: "10000",
    columns: [
      ...(["name", "client", "requests", "first_accepted_at", "last_at", "accepted"] as const),
      ...(["placed", "answer_rate", "mean_seconds", "opted_out", "cost"] as const),
    ] satisfies (keyof Campaigns["campaigns"][number])[],
    more: ["results.completed", "results.voicemail", "results.no_answer", "results.busy"],
  },
  audit: {
    items: "entries",
    limit: "200",
    columns: [
      "at",
      "by",
      "action",
      "target",
      "count",
      "reason",
    ] satisfies (keyof Audit["entries"][number])[],
    more: [],
  },
  backlogs: {
    items: "backlogs",
    limit: "200",
    columns: [
      ...(["client", "agent_id", "urgent", "account", "waiting"] as const),
      "holders",
    ] satisfies (keyof BacklogView)[],
    more: ["head.call_id", "head.due_at"],
  },
} as const;
type ListName = keyof typeof lists;

/** Sentences about a file's end, after the number of its rows. */
const ends: Readonly<Record<Ended, string>> = {
  whole: "all of the list.",
  full: `the newest ones: the file was cut, as it has at most ${countText(rowsMax)}.`,
  stopped: "the newest ones: it was stopped.",
  failed: "the newest ones: the rest could not be read.",
};

interface Props {
  of: ListName;
  /** Filter of the list, as its query has it. */
  filter?: Readonly<Record<string, string>>;
  /** Number of the calls, if they are searched by one. */
  number?: string;
}

/** Buttons that save a list as a file, page by page. */
export function Export({ of, filter = {}, number = "" }: Props) {
  const { ask } = useDesk();
  const [rows, setRows] = useState<number>();
  const [done, setDone] = useState("");
  const stopped = useRef(false);
  useEffect(
    () => () => {
      stopped.current = true;
    },
    [],
  );
  const save = async (format: Format) => {
    stopped.current = false;
    setDone("");
    setRows(0);
    const { columns, more } = lists[of];
    const load = (cursor: string | undefined) => readPage({ of, filter, number }, cursor, ask);
    const file = await exportRows(
      { format, columns: [...columns, ...more] },
      { load, isStopped: () => stopped.current, progress: setRows },
    );
    setRows(undefined);
    setDone(`Saved ${counted(file.rows, "row")}, ${ends[file.ended]}`);
    saveFile(file.parts, { name: `${of}.${format}`, format });
  };
  return (
    <div class="line" role="group" aria-label="Export">
      {rows === undefined ? (
        <>
          <button type="button" class="quiet" onClick={() => void save("csv")}>
            Export CSV
          </button>
          <button type="button" class="quiet" onClick={() => void save("ndjson")}>
            Export NDJSON
          </button>
        </>
      ) : (
        <button type="button" onClick={() => (stopped.current = true)}>
          Stop the export
        </button>
      )}
      <span class="hint" aria-live="polite">
        {rows === undefined ? done : `${counted(rows, "row")} read …`}
      </span>
    </div>
  );
}

/** Reads one page of a list with as many items as the API gives. */
async function readPage({ of, filter = {}, number }: Props, cursor: string | undefined, ask: Ask) {
  const { items, limit } = lists[of];
  const query = { ...filter, limit, ...(cursor === undefined ? {} : { cursor }) };
  const page =
    of === "calls" && number !== ""
      ? await ask<Page>("/calls/search", { phone_number: number, ...query })
      : await ask<Page>(`/${of}?${new URLSearchParams(query).toString()}`);
  return { items: page[items] ?? [], cursor: page.cursor };
}

type Page = { cursor?: string } & Partial<
  Record<(typeof lists)[ListName]["items"], readonly Readonly<Record<string, unknown>>[]>
>;

function saveFile(parts: readonly string[], { name, format }: { name: string; format: Format }) {
  const type = format === "csv" ? "text/csv" : "application/x-ndjson";
  const url = URL.createObjectURL(new Blob([...parts], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
