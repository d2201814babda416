import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { useDesk } from "./desk.tsx";

/** Time in which an action can be undone by one click. Keyboard users need some of it to reach the button. */
const offeredMs = 30_000;

/** Something that was done. */
interface Done {
  /** Sentence about it, such as `Paused: account vapi.` */
  texts: string;
  /** Undoes it. Resolves to a message. */
  undo(): Promise<string>;
}

interface Undo {
  done: Done | undefined;
  offer(done: Done | undefined): void;
}

const UndoContext = createContext<Undo>({ done: undefined, offer: () => undefined });

/** Returns a function that offers, for 30 s, to undo what was done. The next offer takes its place. */
export function useUndo(): (done: Done) => void {
  return useContext(UndoContext).offer;
}

/** Keeps what can be undone, whatever view is shown. */
export function Undoing({ children }: { children: ComponentChildren }) {
  const [done, offer] = useState<Done>();
  useEffect(() => {
    if (done === undefined) return undefined;
    const timer = setTimeout(() => offer(undefined), offeredMs);
    return () => clearTimeout(timer);
  }, [done]);
  return <UndoContext.Provider value={{ done, offer }}>{children}</UndoContext.Provider>;
}

/** Shows what can be undone. */
export function UndoBar() {
  const { attempt } = useDesk();
  const { done, offer } = useContext(UndoContext);
  if (done === undefined) return null;
  return (
    <section class="card line spread pending" aria-label="Can be undone">
      <span>{done.texts}</span>
      <button
        type="button"
        onClick={() => {
          offer(undefined);
          attempt(done.undo);
        }}
      >
        Undo
      </button>
    </section>
  );
}
