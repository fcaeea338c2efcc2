import { useLayoutEffect, useRef } from "preact/hooks";
import type { StoredPlantJson } from "../../files/plant-json.ts";
import { formatCount, formatPlural } from "../../text/counts.ts";
import { describeError } from "../api.ts";
import { Button } from "../parts/controls.tsx";
import { Link } from "../parts/link.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Table } from "../parts/table.tsx";
import { ShortTime } from "../parts/time.tsx";
import { FilterLink, TagLink } from "./filter-link.tsx";
import { type PlantList, rowsMax } from "./plant-list.ts";

export interface PlantTableProps {
  readonly list: PlantList;
  /** The plant whose details are open. */
  readonly selectedId: string | undefined;
  /** The filter as an address has it. */
  readonly search: string;
}

/** The plants that are listed, and below them how many there are. */
export function PlantTable({ list, selectedId, search }: PlantTableProps) {
  const { plants, state } = list;
  const isLoading = state === "loading";
  const hasMore = state !== "ended" && state !== "full";
  const end = useRef<HTMLParagraphElement>(null);
  const isPressed = useRef(false);
  // Once the button that someone has pressed is gone, the text beside it gets the focus.
  useLayoutEffect(() => {
    if (isLoading) return;
    if (isPressed.current && !hasMore && document.activeElement === document.body) end.current?.focus();
    isPressed.current = false;
  }, [state]);
  const showMore = (): void => {
    isPressed.current = true;
    void list.showMore();
  };
  return (
    <div class="card">
      <Table class="plants-table" columns={["Name", "Tag", "Id", "Sender", "Created"]} aria-busy={isLoading}>
        {plants.map((plant) => (
          <Row key={plant.id} plant={plant} search={search} isSelected={plant.id === selectedId} />
        ))}
      </Table>
      <div class="line list-end">
        <p ref={end} tabIndex={-1} role="status" aria-busy={isLoading}>
          {describe(list)}
        </p>
        {hasMore && <Button onClick={showMore}>{state === "failed" ? "Try again" : "Show more"}</Button>}
      </div>
    </div>
  );
}

/** How many plants there are, or what is going on. */
function describe({ plants, count, state, searched, error, isOldestFirst }: PlantList): string {
  const shown = formatCount(plants.length);
  if (state === "failed") return describeError(error);
  if (state === "loading")
    return searched > plants.length
      ? `Searched ${formatPlural(searched, "plant")}, found ${shown}…`
      : "Loading…";
  if (state === "ended") return formatPlural(plants.length, "plant");
  const counted = count === undefined ? `${shown} plants` : `${shown} of ${formatPlural(count, "plant")}`;
  if (state === "more") return counted;
  const which = isOldestFirst ? "oldest" : "newest";
  return `${counted}. These are the ${which} ${formatCount(rowsMax)}. Search, filter by time, or export.`;
}

interface RowProps {
  readonly plant: StoredPlantJson;
  readonly search: string;
  readonly isSelected: boolean;
}

function Row({ plant: { id, name, tag, createdBy, createdAt }, search, isSelected }: RowProps) {
  return (
    <tr id={`plant-${id}`} class={isSelected ? "selected" : undefined}>
      <th scope="row">
        <Link href={`/plants/${id}${search}`} aria-current={isSelected ? "true" : undefined}>
          <PlantText text={name} empty="(empty name)" />
        </Link>
      </th>
      <td>{tag !== undefined && <TagLink tag={tag} />}</td>
      <td class="exact">{id}</td>
      <td>
        <FilterLink part={{ token: createdBy }}>{createdBy}</FilterLink>
      </td>
      <td>
        <ShortTime at={createdAt} />
      </td>
    </tr>
  );
}
