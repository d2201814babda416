import { type ComponentChildren, options } from "preact";
import { shownText } from "../../shared/lib/shown-text.ts";

/**
 * Has the page show control characters of texts instead of obeying them: names and reasons come from others. It concerns all
 * texts of all elements, so that no view can forget it. Markup in texts is none to Preact.
 */
export function showControls(): void {
  const before = options.vnode;
  options.vnode = (node) => {
    const { props }: { props: { children?: ComponentChildren } } = node;
    // A component's children reach elements later.
    if (typeof node.type === "string" && props.children !== undefined)
      props.children = shownChildren(props.children);
    before?.(node);
  };
}

function shownChildren(children: ComponentChildren): ComponentChildren {
  if (typeof children === "string") return shownText(children);
  return Array.isArray(children) ? children.map(shownChildren) : children;
}
