import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useRouter } from "../console.ts";

interface PageHeadProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly headingRef?: RefObject<HTMLHeadingElement | null>;
  /** After a change of this text, the page shows something else, as after navigation. */
  readonly focusedAfter?: string;
  readonly children?: ComponentChildren;
}

/** The heading of a page. It gets the focus after navigation, so that a screen reader announces the page. */
export function PageHead({ title, lead, headingRef, focusedAfter, children }: PageHeadProps) {
  const ownRef = useRef<HTMLHeadingElement>(null);
  const heading = headingRef ?? ownRef;
  const { navigations } = useRouter();
  useEffect(() => nameTab(title), [title]);
  useEffect(() => {
    // When the console opens, the focus starts at the skip link. Whoever changes a field goes on there.
    const isInField = document.activeElement?.matches("input, select");
    if (navigations > 0 && !isInField) heading.current?.focus();
  }, [title, focusedAfter]);
  return (
    <header class="page-head">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children && <div class="line">{children}</div>}
      {lead && <p class="note">{lead}</p>}
    </header>
  );
}

export function nameTab(title: string): void {
  document.title = `${title} · Plant Store`;
}
