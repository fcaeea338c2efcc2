import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useRouter } from "../router.ts";

interface PageHeadProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** The page's heading, which takes the focus when one arrives, so that a screen reader reads where one is. */
export function PageHead({ title, lead, children }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { moves } = useRouter();
  useEffect(() => {
    document.title = `${title} · Plant Store`;
    // Whoever has just opened the console begins at its top, with the skip link.
    if (moves > 0) heading.current?.focus();
  }, [title]);
  return (
    <header class="page-head">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead && <p class="lead">{lead}</p>}
      </div>
      {children && <div class="page-actions">{children}</div>}
    </header>
  );
}
