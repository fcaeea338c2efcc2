import { useCallback, useEffect, useRef } from "preact/hooks";
import { visibleParts } from "../../files/visible-text.ts";
import { ApiError } from "../api.ts";
import type { Plant } from "../api-shapes.ts";
import { formatRelativeTime, formatTime } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { nameTab } from "../parts/page-head.tsx";
import { Skeleton } from "../parts/panel.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Tag } from "../parts/tag.tsx";
import { useSession } from "../session.ts";
import { useLoad } from "../use-load.ts";
import { newPlantBody } from "./new-plant-body.ts";

const noSuchPlant = 40402;
const headingCharactersMax = 120;
const tabCharactersMax = 60;
// A request has at most 64 KiB, so these are everything unless the limit was raised.
const textCharactersMax = 70_000;
const jsonCharactersMax = 80_000;
const scrollsFrom = 150;

/** All fields of one plant, next to the table. Escape closes it. */
export function PlantDetail({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { api } = useSession();
  const heading = useRef<HTMLHeadingElement>(null);
  const load = useCallback(
    (signal: AbortSignal) => api.get<Plant>(`/api/plants/${encodeURIComponent(id)}`, signal),
    [api, id],
  );
  const { value: plant, error, reload } = useLoad(load);
  const loaded = plant !== undefined || error !== undefined;
  useEffect(() => {
    if (loaded) heading.current?.focus();
  }, [loaded]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && document.querySelector("dialog[open]") === null) onClose();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  const missing = error instanceof ApiError && error.error === noSuchPlant;
  const tab = missing ? "Plant not found" : plant?.name ? visibleText(plant.name) : `Plant ${id}`;
  useEffect(() => {
    nameTab(tab);
    return () => nameTab("Plants");
  }, [tab]);
  return (
    <aside class="detail card" aria-labelledby="detail-title">
      <header class="dialog-head">
        <h2 id="detail-title" ref={heading} tabIndex={-1}>
          {plant === undefined ? (
            missing ? (
              "Plant not found"
            ) : (
              `Plant ${id}`
            )
          ) : (
            <PlantText text={plant.name} empty="(empty name)" charactersMax={headingCharactersMax} />
          )}
        </h2>
        <button type="button" class="bare" aria-label="Close details" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {missing && <p>No plant has the id {id}.</p>}
      {error !== undefined && !missing && <ErrorNotice error={error} onRetry={reload} />}
      {!loaded && <Skeleton lines={6} />}
      {plant !== undefined && <Fields plant={plant} />}
    </aside>
  );
}

function Fields({ plant }: { readonly plant: Plant }) {
  const json = newPlantBody(plant.id, plant.name, plant.tag);
  return (
    <>
      <dl class="facts">
        <dt>Id</dt>
        <dd class="exact">{plant.id}</dd>
        <dt>Name</dt>
        <Long text={plant.name} />
        <dt>Tag</dt>
        <dd>
          {plant.tag === undefined ? (
            <span class="none">none</span>
          ) : plant.tag === "" ? (
            <PlantText text="" />
          ) : (
            <Tag tag={plant.tag} href={`/plants?${new URLSearchParams({ tag: plant.tag })}`} />
          )}
        </dd>
        <dt>Created</dt>
        <dd>
          <time dateTime={plant.createdAt}>{formatTime(plant.createdAt)}</time>
          <br />
          <span class="note">{formatRelativeTime(plant.createdAt)}</span>
        </dd>
        <dt>Created by</dt>
        <dd>
          <Link href={`/plants?${new URLSearchParams({ token: plant.createdBy })}`}>{plant.createdBy}</Link>
        </dd>
      </dl>
      <h3>JSON</h3>
      <pre class="code clamped" {...scrollable(json)}>
        <PlantText text={json} lines charactersMax={jsonCharactersMax} />
      </pre>
      <div class="actions">
        <CopyButton text={plant.id} label="Copy id" />
        <CopyButton text={json} label="Copy JSON" />
      </div>
    </>
  );
}

/** A text of any length, in a box that scrolls. */
function Long({ text }: { readonly text: string }) {
  return (
    <dd class="clamped" {...scrollable(text)}>
      <PlantText text={text} lines charactersMax={textCharactersMax} />
    </dd>
  );
}

/** A name in a title, which is plain text. */
function visibleText(name: string): string {
  const parts = visibleParts(name, { lines: false, charactersMax: tabCharactersMax });
  return parts.map(({ text }) => text).join("");
}

// A box that scrolls must be reachable by keyboard.
function scrollable(text: string): { readonly tabIndex?: number } {
  return text.length > scrollsFrom || text.includes("\n") ? { tabIndex: 0 } : {};
}
