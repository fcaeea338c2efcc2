import type { AnchorHTMLAttributes } from "preact";
import { Tag } from "../parts/plant-text.tsx";
import { Link } from "../router.tsx";
import type { ListFilter } from "./list-filter.ts";

/** The address of the table with the current filter, changed in that part. */
export type HrefWith = (part: Partial<ListFilter>) => string;

/** A tag or a sender, as a link to the plants that have it. */
export function FilterLink(props: AnchorHTMLAttributes & { readonly href: string }) {
  return <Link class="filter-link" title="List only these plants" {...props} />;
}

interface TagLinkProps extends Pick<AnchorHTMLAttributes, "tabIndex"> {
  readonly tag: string;
  readonly hrefWith: HrefWith;
}

/** There is no filter for an empty tag. */
export function TagLink({ tag, hrefWith, tabIndex }: TagLinkProps) {
  if (tag === "") return <Tag tag={tag} />;
  return (
    <FilterLink href={hrefWith({ tag })} tabIndex={tabIndex}>
      <Tag tag={tag} />
    </FilterLink>
  );
}
