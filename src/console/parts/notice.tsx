import type { ComponentChildren } from "preact";
import { wordsOf } from "../api.ts";
import { Leaf } from "./icons.tsx";

/** Something failed; says what, and offers to try again. */
export function Trouble({ reason, onRetry }: { readonly reason: unknown; readonly onRetry?: () => void }) {
  return (
    <div class="trouble" role="alert">
      <p>{wordsOf(reason)}</p>
      {onRetry && (
        <button type="button" class="quiet" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A place where nothing is yet; says why, and what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty">
      <Leaf class="leaf pale" />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
