import type { List } from "./use-list.ts";
import { Time } from "./shared.tsx";

/** The end of a list that is shown: how far back it has looked, and buttons to go on and to stop. */
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
  const { items, lookedUntil, hasMore, isLooking, hasNewer, problem, note, readAt } = list;
  const isEmpty = items?.length === 0;
  return (
    <>
      {problem === undefined ? null : (
        <p class="problem">
          {what} could not be read: {problem}{" "}
          <button type="button" onClick={list.retry}>
            Try again
          </button>
          {readAt === undefined ? null : (
            <span class="hint">
              {" "}
              As of <Time at={readAt} />.
            </span>
          )}
        </p>
      )}
      {note === undefined ? null : <p class="problem">{note}</p>}
      {items === undefined && problem === undefined ? <p class="hint">Loading …</p> : null}
      {isEmpty && !hasMore ? <p>{nothing}</p> : null}
      {hasNewer ? (
        <p class="line">
          Newer ones came in.{" "}
          <button type="button" onClick={list.restart}>
            Show the newest
          </button>
        </p>
      ) : null}
      {items !== undefined && hasMore ? (
        <p class="line" aria-live="polite">
          {isLooking ? "Looking further …" : isEmpty ? "None found so far." : null}
          {lookedUntil === null || lookedUntil === undefined ? null : (
            <span class="hint">
              Looked back to <Time at={lookedUntil} />.
            </span>
          )}
          {isLooking ? (
            <button type="button" onClick={list.stop}>
              Stop
            </button>
          ) : (
            <button type="button" onClick={list.more}>
              {more}
            </button>
          )}
        </p>
      ) : null}
    </>
  );
}
