import type { ComponentChildren } from "preact";
import { useRouter } from "../router.ts";

interface LinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  readonly style?: Record<string, string>;
  readonly tabIndex?: number;
  readonly "aria-current"?: "page" | "true";
  readonly onFocus?: () => void;
}

/** A link within the console, which does not reload the page. */
export function Link({ href, children, ...rest }: LinkProps) {
  const { navigate } = useRouter();
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        // A clickable row has the same link.
        event.stopPropagation();
        navigate(href);
      }}
    >
      {children}
    </a>
  );
}
