import type { ComponentChildren } from "preact";
import { useRouter } from "../router.ts";

interface LinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  readonly tabIndex?: number;
  readonly "aria-current"?: "page" | "true";
  readonly onFocus?: () => void;
}

/** An ordinary link that stays in this page, so that the session and the live feed go on. */
export function Link({ href, children, ...rest }: LinkProps) {
  const { go } = useRouter();
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        // A row that is clickable as a whole holds the same link.
        event.stopPropagation();
        go(href);
      }}
    >
      {children}
    </a>
  );
}
