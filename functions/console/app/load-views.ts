import { useEffect, useState } from "preact/hooks";
import { buildId } from "./build-id.ts";
import type * as views from "./views.ts";

/** The views beside the overview, as the page has loaded them. */
export type Views = typeof views;

let loading: Promise<Views> | undefined;

/** Loads the views beside the overview. Views of a later deployment do not fit this page, which is then reloaded. */
function loadViews(): Promise<Views> {
  loading ??= import("./views.ts").then((loaded) => {
    if (loaded.buildId !== buildId) location.reload();
    return loaded;
  });
  loading.catch(() => (loading = undefined));
  return loading;
}

/** Returns the views once they are loaded, and whether that failed. */
export function useViews(isWanted: boolean): { views: Views | undefined; isFailed: boolean } {
  const [views, setViews] = useState<Views>();
  const [isFailed, setIsFailed] = useState(false);
  useEffect(() => {
    if (!isWanted || views !== undefined) return;
    loadViews().then(
      (loaded) => setViews(() => loaded),
      () => setIsFailed(true),
    );
  }, [isWanted]);
  return { views, isFailed };
}
