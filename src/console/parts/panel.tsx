import type { ComponentChildren } from "preact";
import { formatClock } from "../format.ts";

interface PanelProps {
  readonly id: string;
  readonly title: string;
  /** At the right of the title. */
  readonly aside?: ComponentChildren;
  readonly class?: string;
  /** Its content is still loading. */
  readonly loading?: boolean;
  /** When its content was loaded, if newer content could not be loaded since. */
  readonly staleSince?: string | undefined;
  readonly children?: ComponentChildren;
}

/** A titled part of a page, with the states that any content can be in. */
export function Panel({ id, title, aside, class: name = "", loading, staleSince, children }: PanelProps) {
  const stale = staleSince !== undefined;
  return (
    <section class={`card panel ${name} ${stale ? "stale" : ""}`} aria-labelledby={id} aria-busy={loading}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {stale ? <p class="note">As of {formatClock(staleSince)}</p> : aside}
      </div>
      {loading ? <Skeleton lines={5} /> : children}
    </section>
  );
}

/** Grey lines in place of content that is loading. */
export function Skeleton({ lines, class: name = "" }: { readonly lines: number; readonly class?: string }) {
  return (
    <div class={`skeleton ${name}`} aria-hidden="true">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}
