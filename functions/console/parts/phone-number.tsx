import { useEffect, useId, useState } from "preact/hooks";
import { useDesk } from "./desk.tsx";
import { loadNumberReader, type NumberReader, type Understood } from "../data/number-reader.ts";
import { counted } from "./shared.tsx";

/** The state of a field of one number, or of several. */
export interface NumberField {
  text: string;
  change(text: string): void;
  /** Loads the reader, which is a file of its own. */
  touch(): void;
  /** Undefined before it is loaded. */
  reader: NumberReader | undefined;
  /** Resolves to the number of the field; to undefined if it has none, and the field says why. */
  take(): Promise<Understood | undefined>;
}

/** @param first the text of the field, and its next one whenever that changes */
export function useNumberField(first = ""): NumberField {
  const { ask, say } = useDesk();
  const [text, change] = useState(first);
  const [reader, setReader] = useState<NumberReader>();
  useEffect(() => change(first), [first]);
  const load = async () => {
    const loaded = await loadNumberReader(ask);
    setReader(loaded);
    return loaded;
  };
  const touch = () => {
    if (reader === undefined) load().catch(() => say("Numbers cannot be read: reload the page."));
  };
  const isGiven = text.trim() !== "";
  useEffect(() => {
    if (isGiven) touch();
  }, [isGiven]);
  return {
    text,
    change,
    touch,
    reader,
    async take() {
      if (!isGiven) return undefined;
      const read = (reader ?? (await load())).readOne(text);
      return "reason" in read ? undefined : read;
    },
  };
}

/** A field for a phone number as people write it. Below it stands what was understood. */
export function PhoneNumber({
  label,
  field,
  isRequired = true,
}: {
  label: string;
  field: NumberField;
  isRequired?: boolean;
}) {
  const { text, change, touch, reader } = field;
  const id = useId();
  return (
    <div class="number">
      <label>
        {label}
        <input
          type="tel"
          autocomplete="off"
          required={isRequired}
          aria-describedby={id}
          value={text}
          onFocus={touch}
          onInput={(event) => change(event.currentTarget.value)}
        />
      </label>
      <p class="hint" id={id} aria-live="polite">
        {text.trim() === "" ? (
          <WithoutCode reader={reader} />
        ) : (
          <ReadAs text={text} reader={reader} />
        )}
      </p>
    </div>
  );
}

/** Says whose numbers without a country code are. */
function WithoutCode({ reader }: { reader: NumberReader | undefined }) {
  if (reader === undefined) return null;
  return <>Without +, the country is {reader.country ?? "unknown: the plan implies none"}.</>;
}

function ReadAs({ text, reader }: { text: string; reader: NumberReader | undefined }) {
  if (reader === undefined) return <>Reading …</>;
  const read = reader.readOne(text);
  return "reason" in read ? (
    <span class="problem">It {read.reason}.</span>
  ) : (
    <>
      Read as <b>{read.shown}</b>
    </>
  );
}

/** Numbers, or lines that are none, that are named below a field. */
const namedMax = 10;

/** The numbers that were understood in a text of several. */
export function NumbersRead({ field: { text, reader } }: { field: NumberField }) {
  if (text.trim() === "") {
    return (
      <p class="hint">
        <WithoutCode reader={reader} />
      </p>
    );
  }
  if (reader === undefined) return <p class="hint">Reading …</p>;
  const { numbers, read, refused } = reader.readMany(text);
  const more = numbers.length > namedMax ? ` and ${numbers.length - namedMax} more` : "";
  const again = read > numbers.length ? `, ${read - numbers.length} written again` : "";
  return (
    <div aria-live="polite">
      <p class="hint">
        Read as {counted(numbers.length, "number")}
        {again}
        {numbers.length === 0 ? "" : ": "}
        <b>{numbers.slice(0, namedMax).map(reader.describe).join("; ")}</b>
        {more}
      </p>
      {refused.length === 0 ? null : (
        <p class="problem">
          Not read:{" "}
          {refused
            .slice(0, namedMax)
            .map(({ line, reason }) => `line ${line} ${reason}`)
            .join("; ")}
          {refused.length > namedMax ? ` and ${refused.length - namedMax} more` : ""}.
        </p>
      )}
    </div>
  );
}
