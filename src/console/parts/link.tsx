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
        // In Safari, what is clicked does not get the focus.
        event.currentTarget.focus();
        router.navigate(href);
      }}
    >
      {children}
    </a>
  );
}
