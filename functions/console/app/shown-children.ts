import { shownText } from "#shared/lib/shown-text.ts";

/** An element as Preact makes it, as far as it is looked at here. */
interface Made {
  type: unknown;
  props: { children?: unknown };
}

/** Preact's hooks: `vnode` is called with each element that is made. Its own types would bring those of a page. */
export interface Hooks {
  vnode?: ((made: never) => void) | undefined;
}

/**
 * Makes the page show control characters of texts instead of obeying them: names and reasons come from others. This
 * covers all texts of all elements, so no view can forget it. Preact does not read markup in texts.
 */
export function showControls(hooks: Hooks): void {
  const before = hooks.vnode;
  hooks.vnode = (made: Made) => {
    const { type, props } = made;
    // A component's children reach elements later.
    if (typeof type === "string" && props.children !== undefined)
      props.children = shownChildren(props.children);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is what Preact has made
    before?.(made as never);
  };
}

function shownChildren(children: unknown): unknown {
  if (typeof children === "string") return shownText(children);
  return Array.isArray(children) ? children.map(shownChildren) : children;
}
