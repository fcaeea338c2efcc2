// What stands in place of content: while it loads, if it cannot be loaded, and if there is none.
import type { ComponentChildren } from "preact";
import { describeError } from "../api.ts";
import { Button } from "./controls.tsx";

/** Grey lines in place of content that is loading. */
export function Skeleton({ lines }: { readonly lines: number }) {
  return (
    <div class="stack skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

/** A card whose content is loading. */
export function LoadingCard({ lines }: { readonly lines: number }) {
  return (
    <div class="card panel" aria-busy="true">
      <Skeleton lines={lines} />
    </div>
  );
}

/** Says what went wrong, if anything did. `useLoad` tries again by itself if that may help. */
export function ErrorNotice({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  return (
    <p class="error-notice" role="alert">
      {describeError(error)}
    </p>
  );
}

interface EmptyStateProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

/** Says that there is nothing to show, and what to do about it. */
export function EmptyState({ title, children }: EmptyStateProps) {
  return (
    <div class="card empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface NothingListedProps {
  readonly title: string;
  readonly onClear: () => void;
  readonly children?: ComponentChildren;
}

/** Stands in place of a list of which the filters leave nothing. */
export function NothingListed({ title, onClear, children }: NothingListedProps) {
  return (
    <EmptyState title={title}>
      {children !== undefined && <p>{children}</p>}
      <div class="line">
        <Button onClick={onClear}>Clear filters</Button>
      </div>
    </EmptyState>
  );
}
