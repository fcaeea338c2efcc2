import type { AnchorHTMLAttributes } from "preact";
import { useConsole } from "../console.ts";

/** A link within the console, which does not reload the page. */
export function Link({ href, children, ...rest }: AnchorHTMLAttributes & { readonly href: string }) {
  const { router } = useConsole();
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        // A clickable row has the same link.
        event.stopPropagation();
        router.navigate(href);
      }}
    >
      {children}
    </a>
  );
}
