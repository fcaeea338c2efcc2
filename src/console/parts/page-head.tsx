import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useConsole } from "../console.ts";

interface PageHeadProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  /** After a change of this text, the page shows something else, as after navigation. */
  readonly focusedAfter?: string;
  readonly children?: ComponentChildren;
}

/** The heading of a page. It gets the focus after navigation, so that a screen reader announces the page. */
export function PageHead({ title, lead, focusedAfter, children }: PageHeadProps) {
  const { router } = useConsole();
  useEffect(() => nameTab(title), [title]);
  useEffect(() => {
    // When the console opens, the focus starts at the skip link. Whoever changes a field goes on there.
    const isInField = document.activeElement?.matches("input, select");
    if (router.navigations > 0 && !isInField) focusHeading();
  }, [title, focusedAfter]);
  return (
    <header class="page-head">
      <h1 tabIndex={-1}>{title}</h1>
      {children && <div class="line">{children}</div>}
      {lead && <p class="note">{lead}</p>}
    </header>
  );
}

/** For what had the focus and is gone. */
export function focusHeading(): void {
  document.querySelector("h1")?.focus();
}

export function nameTab(title: string): void {
  document.title = `${title} · Plant Store`;
}
