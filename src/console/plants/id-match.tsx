import { useEffect, useRef, useState } from "preact/hooks";
import type { StoredPlantJson } from "../../files/plant-json.ts";
import { useLive } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PlantText, Tag } from "../parts/plant-text.tsx";
import { apiFilter, type ListFilter } from "./list-filter.ts";
import { usePlantLinks } from "./plant-links.tsx";

const int64Bits = 64;

/** Whether there is a plant with an id that was searched for. */
interface IdLookup {
  readonly id: string;
  readonly isFound: boolean;
}

export type IdSearch = ReturnType<typeof useIdSearch>;

/** The search for a plant by its id. Enter opens the plant, even if it was pressed before the service found one. */
export function useIdSearch(filter: ListFilter, onOpen: (id: string) => void) {
  const id = idIn(filter.name);
  const [lookup, setLookup] = useState<IdLookup>();
  const link = useRef<HTMLAnchorElement>(null);
  /** The id that Enter was pressed for before it was known whether a plant has it. */
  const idToOpen = useRef<string>(undefined);
  const forgetEnter = (): void => {
    idToOpen.current = undefined;
  };
  const isKnown = id === undefined || id === lookup?.id;
  return {
    /** Undefined if the search is not for an id. */
    id,
    /** The link to the plant, if one has the id. */
    link,
    isKnown,
    isFound: id !== undefined && isKnown && lookup?.isFound,
    forgetEnter,
    onEnter: (searched: string): void => {
      const enteredId = idIn(searched);
      if (lookup === undefined || lookup.id !== enteredId) idToOpen.current = enteredId;
      else if (lookup.isFound) onOpen(lookup.id);
    },
    onLookup: (found: IdLookup): void => {
      setLookup(found);
      if (found.isFound && found.id === idToOpen.current) onOpen(found.id);
      forgetEnter();
    },
  };
}

interface IdMatchProps {
  readonly id: string;
  readonly linkRef: IdSearch["link"];
  /** The plant must also match the other parts of the filter. */
  readonly filter: ListFilter;
  /** Called once it is known whether there is such a plant, and when that changes. */
  readonly onLookup: (lookup: IdLookup) => void;
}

/** The plant with the id that is in the search, above those whose name contains it. */
export function IdMatch({ id, linkRef, filter, onLookup }: IdMatchProps) {
  const query = { ...apiFilter({ ...filter, name: "", id }), limit: "1" };
  const { value, isLoading } = useLive("/api/plants", query);
  // The id of the search takes the place of the filter's own in the query.
  const isOtherId = filter.id !== "" && idIn(filter.id) !== id;
  const plant = isOtherId ? undefined : value?.plants[0];
  const isFound = plant !== undefined;
  useEffect(() => {
    if (!isLoading) onLookup({ id, isFound });
  }, [id, isLoading, isFound]);
  return (
    <div class="id-match" role="status">
      {plant !== undefined && <MatchLink plant={plant} linkRef={linkRef} />}
    </div>
  );
}

interface MatchLinkProps extends Pick<IdMatchProps, "linkRef"> {
  readonly plant: StoredPlantJson;
}

function MatchLink({ plant, linkRef }: MatchLinkProps) {
  const { selectedId, plantHref } = usePlantLinks();
  const isSelected = plant.id === selectedId;
  return (
    <Link
      ref={linkRef}
      class="card line"
      href={plantHref(plant.id)}
      aria-current={isSelected ? "true" : undefined}
    >
      <b>Plant {plant.id}</b>
      <PlantText text={plant.name} empty="(empty name)" />
      {plant.tag !== undefined && <Tag tag={plant.tag} />}
      <span class="note">Enter opens it</span>
    </Link>
  );
}

/** The id in the text of the search or the filter, without leading zeros; undefined if the text is not an int64. */
function idIn(text: string): string | undefined {
  if (!/^\s*-?\d{1,19}\s*$/.test(text)) return undefined;
  const id = BigInt(text.trim());
  return BigInt.asIntN(int64Bits, id) === id ? String(id) : undefined;
}
