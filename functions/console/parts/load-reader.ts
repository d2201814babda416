import { useEffect, useState } from "preact/hooks";
import { useDesk } from "./desk.tsx";
import type * as reader from "#shared/leads/reader.ts";

/** The reader of leads, as the page has loaded it. */
export type Reader = typeof reader;

/** Loads the reader of leads, which is a file of its own. */
export function useReader(): Reader | undefined {
  const { say } = useDesk();
  const [loaded, setLoaded] = useState<Reader>();
  useEffect(() => {
    import("#shared/leads/reader.ts").then(setLoaded, () =>
      say("The reader of leads cannot be loaded. Reload the page."),
    );
  }, [say]);
  return loaded;
}
