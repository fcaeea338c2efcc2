import { useEffect, useRef } from "preact/hooks";
import type { StoredPlantJson } from "../../files/plant-json.ts";
import { isRefusal } from "../api.ts";
import { formatTime } from "../format-time.ts";
import { ErrorNotice } from "../parts/content-states.tsx";
import { Button, CopyButton } from "../parts/controls.tsx";
import { useLoad } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { nameTab } from "../parts/page-head.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { newPlantBody } from "./add-plant.tsx";
import { FilterLink, TagLink } from "./filter-link.tsx";

const titleCharactersMax = 60;
// A request has at most 64 KiB, so these are everything unless the limit was raised.
const textCharactersMax = 80_000;
const scrollsFrom = 150;

interface PlantDetailProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** All fields of one plant, next to the table. */
export function PlantDetail({ id, onClose }: PlantDetailProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { value: plant, error, isLoading } = useLoad("/api/plants/{id}", { id });
  const isMissing = isRefusal(error, "no-such-plant");
  useEffect(() => {
    if (!isLoading) heading.current?.focus();
  }, [isLoading]);
  useEffect(() => nameTab(isMissing ? "Plant not found" : `Plant ${id}`), [isMissing]);
  return (
    <aside class="card panel stack detail" aria-labelledby="detail-title">
      <header class="dialog-head">
        <h2 id="detail-title" ref={heading} tabIndex={-1}>
          {isMissing && "Plant not found"}
          {plant && <PlantText text={plant.name} empty="(empty name)" charactersMax={titleCharactersMax} />}
          {!isMissing && !plant && `Plant ${id}`}
        </h2>
        <Button class="bare" aria-label="Close details" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </header>
      {isMissing ? <p>No plant has the id {id}.</p> : <ErrorNotice error={error} />}
      {plant !== undefined && <PlantFields plant={plant} />}
    </aside>
  );
}

function PlantFields({ plant }: { readonly plant: StoredPlantJson }) {
  const json = newPlantBody(plant.id, plant.name, plant.tag);
  return (
    <>
      <dl class="facts">
        <dt>Id</dt>
        <dd class="exact">{plant.id}</dd>
        <dt>Name</dt>
        {/* A text of any length is in a box that scrolls, which must be reachable by keyboard. */}
        <dd
          class="clamped"
          tabIndex={plant.name.length > scrollsFrom || plant.name.includes("\n") ? 0 : undefined}
        >
          <PlantText text={plant.name} lines charactersMax={textCharactersMax} />
        </dd>
        <dt>Tag</dt>
        <dd>{plant.tag === undefined ? <span class="none">none</span> : <TagLink tag={plant.tag} />}</dd>
        <dt>Created</dt>
        <dd>
          <time dateTime={plant.createdAt}>{formatTime(plant.createdAt)}</time>
        </dd>
        <dt>Sender</dt>
        <dd>
          <FilterLink part={{ token: plant.createdBy }}>{plant.createdBy}</FilterLink>
        </dd>
      </dl>
      <div class="line">
        <CopyButton text={plant.id} label="Copy id" />
        <CopyButton text={json} label="Copy JSON" />
      </div>
    </>
  );
}
