import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { useDesk } from "./desk.tsx";

/** Time for which something done can be undone by one click. */
const offeredMs = 10_000;

/** Something that was done. */
interface Done {
  /** Sentence about it, such as `Paused: account vapi.` */
  words: string;
  /** Undoes it. Resolves to a message. */
  undo(): Promise<string>;
}

const UndoContext = createContext<(done: Done) => void>(() => undefined);

/** Returns a function that offers, for 10 s, to undo what was done. The next offer takes its place. */
export function useUndo(): (done: Done) => void {
  return useContext(UndoContext);
}

/** Shows what can be undone below the views inside, where it moves nothing. */
export function Undoing({ children }: { children: ComponentChildren }) {
  const { attempt } = useDesk();
  const [done, setDone] = useState<Done>();
  useEffect(() => {
    if (done === undefined) return undefined;
    const timer = setTimeout(() => setDone(undefined), offeredMs);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <UndoContext.Provider value={setDone}>
      {children}
      {done === undefined ? null : (
        <section class="card line spread pending" aria-label="Can be undone">
          <span>{done.words}</span>
          <button
            type="button"
            onClick={() => {
              setDone(undefined);
              attempt(done.undo);
            }}
          >
            Undo
          </button>
        </section>
      )}
    </UndoContext.Provider>
  );
}
