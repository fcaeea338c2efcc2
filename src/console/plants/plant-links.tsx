import { type AnchorHTMLAttributes, createContext } from "preact";
import { useContext } from "preact/hooks";
import { Link } from "../parts/link.tsx";
import { Tag } from "../parts/plant-text.tsx";
import type { ListFilter } from "./list-filter.ts";

/** Where the links of the page lead, with the filter that it has. */
interface PlantLinks {
  /** The plant whose details are open. */
  readonly selectedId: string | undefined;
  /** The address of a plant beside the same list. */
  plantHref(id: string): string;
  /** The address of the list with the filter changed in that part. */
  hrefWith(part: Partial<ListFilter>): string;
}

export const PlantLinksContext = createContext({} as PlantLinks);

export function usePlantLinks(): PlantLinks {
  return useContext(PlantLinksContext);
}

interface FilterLinkProps extends Pick<AnchorHTMLAttributes, "tabIndex" | "children"> {
  readonly part: Partial<ListFilter>;
}

/** A tag or a creator, as a link to the plants that have it. */
export function FilterLink({ part, ...attributes }: FilterLinkProps) {
  const { hrefWith } = usePlantLinks();
  return <Link class="filter-link" title="List only these plants" href={hrefWith(part)} {...attributes} />;
}

interface TagLinkProps extends Pick<AnchorHTMLAttributes, "tabIndex"> {
  readonly tag: string;
}

/** There is no filter for an empty tag. */
export function TagLink({ tag, tabIndex }: TagLinkProps) {
  if (tag === "") return <Tag tag={tag} />;
  return (
    <FilterLink part={{ tag }} tabIndex={tabIndex}>
      <Tag tag={tag} />
    </FilterLink>
  );
}
