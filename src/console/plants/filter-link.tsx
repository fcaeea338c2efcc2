import type { ComponentChildren } from "preact";
import { withQuery } from "../api.ts";
import { useConsole } from "../console.ts";
import { type Filter, readFilter } from "../parts/filter.ts";
import { Link } from "../parts/link.tsx";
import { Tag } from "../parts/plant-text.tsx";

interface FilterLinkProps {
  readonly part: Filter;
  readonly children: ComponentChildren;
}

/** A link to the plants that also match this. */
export function FilterLink({ part, children }: FilterLinkProps) {
  const { router } = useConsole();
  const href = withQuery("/plants", { ...readFilter(router.query), ...part });
  return (
    <Link class="filter-link" title="List only these plants" href={href}>
      {children}
    </Link>
  );
}

/** There is no filter for an empty tag. */
export function TagLink({ tag }: { readonly tag: string }) {
  if (tag === "") return <Tag tag={tag} />;
  return (
    <FilterLink part={{ tag }}>
      <Tag tag={tag} />
    </FilterLink>
  );
}
