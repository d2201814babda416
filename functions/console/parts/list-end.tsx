import type { List } from "./use-list.ts";
import { Time } from "./shared.tsx";

/** The end of a list that is shown: how far back it has looked, and buttons to continue and to stop. */
export function ListEnd<Item>({
  list,
  what,
  nothing,
  more = "More",
}: {
  list: List<Item>;
  /** Name of the items, such as `The calls`. */
  what: string;
  /** Sentence about a list that is empty to its end. */
  nothing: string;
  /** Name of the button that reads on. */
  more?: string;
}) {
  const { items, hasMore, hasNewer, problem, note } = list;
  return (
    <>
      {problem === undefined ? null : <Problem list={list} what={what} />}
      {note === undefined ? null : <p class="problem">{note}</p>}
      {items === undefined && problem === undefined ? <p class="hint">Loading …</p> : null}
      {items?.length === 0 && !hasMore ? <p>{nothing}</p> : null}
      {hasNewer ? (
        <p class="line">
          Newer ones came in.{" "}
          <button type="button" onClick={list.restart}>
            Show the newest
          </button>
        </p>
      ) : null}
      {items !== undefined && hasMore ? <GoOn list={list} more={more} /> : null}
    </>
  );
}

function Problem<Item>({ list, what }: { list: List<Item>; what: string }) {
  return (
    <p class="problem">
      {what} could not be read: {list.problem}{" "}
      <button type="button" onClick={list.retry}>
        Try again
      </button>
      {list.readAt === undefined ? null : (
        <span class="hint">
          {" "}
          As of <Time at={list.readAt} />.
        </span>
      )}
    </p>
  );
}

function GoOn<Item>({ list, more }: { list: List<Item>; more: string }) {
  const { items, lookedUntil, isLooking } = list;
  return (
    <p class="line" aria-live="polite">
      {isLooking ? "Looking further …" : items?.length === 0 ? "None found so far." : null}
      {lookedUntil === null || lookedUntil === undefined ? null : (
        <span class="hint">
          Looked back to <Time at={lookedUntil} />.
        </span>
      )}
      <button type="button" onClick={isLooking ? list.stop : list.more}>
        {isLooking ? "Stop" : more}
      </button>
    </p>
  );
}
