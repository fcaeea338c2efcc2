// A part of a page, and what stands in place of its content: while it loads, if it cannot be loaded, and if there is none.
import type { ComponentChildren } from "preact";
import { describeError } from "../api.ts";
import { Button } from "./controls.tsx";

interface PanelProps {
  readonly id: string;
  readonly title: string;
  /** What stands at the right of the title. */
  readonly aside?: ComponentChildren;
  /** Whether its content is still loading. */
  readonly loading?: boolean;
  readonly children?: ComponentChildren;
}

/** A titled part of a page. */
export function Panel({ id, title, aside, loading, children }: PanelProps) {
  return (
    <section class="card panel" aria-labelledby={id} aria-busy={loading}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {loading ? <Skeleton /> : children}
    </section>
  );
}

const skeletonLines = 5;

/** Grey lines in place of content that is loading. */
export function Skeleton() {
  return (
    <div class="stack skeleton" aria-hidden="true">
      {Array.from({ length: skeletonLines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

/** A card whose content is loading. */
export function LoadingCard() {
  return (
    <div class="card panel" aria-busy="true">
      <Skeleton />
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
