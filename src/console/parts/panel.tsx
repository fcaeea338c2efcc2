import type { ComponentChildren } from "preact";
import { Skeleton } from "./content-states.tsx";

interface PanelProps {
  readonly id: string;
  readonly title: string;
  /** What stands at the right of the title. */
  readonly aside?: ComponentChildren;
  readonly class?: string;
  /** Whether its content is still loading. */
  readonly loading?: boolean;
  readonly children?: ComponentChildren;
}

/** A titled part of a page, with the states that any content can be in. */
export function Panel({ id, title, aside, class: name = "", loading, children }: PanelProps) {
  return (
    <section class={`card panel ${name}`} aria-labelledby={id} aria-busy={loading}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {loading ? <Skeleton lines={5} /> : children}
    </section>
  );
}
