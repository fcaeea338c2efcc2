import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api.ts";
import type { Plant } from "../api-shapes.ts";
import { formatRelativeTime, formatTime } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { useSession } from "../session.ts";
import { newPlantBody } from "./new-plant-body.ts";

const noSuchPlant = 40402;

/** All fields of one plant, next to the table. Escape closes it. */
export function PlantDetail({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { api } = useSession();
  const [plant, setPlant] = useState<Plant>();
  const [error, setError] = useState<unknown>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const abort = new AbortController();
    api
      .get<Plant>(`/api/plants/${encodeURIComponent(id)}`, abort.signal)
      .then(setPlant)
      .catch((reason: unknown) => abort.signal.aborted || setError(reason));
    return () => abort.abort();
  }, [api, id]);
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
  return (
    <aside class="detail card" aria-labelledby="detail-title">
      <header class="dialog-head">
        <h2 id="detail-title" ref={heading} tabIndex={-1}>
          {plant === undefined ? (missing ? "Plant not found" : `Plant ${id}`) : plant.name || "(no name)"}
        </h2>
        <button type="button" class="bare" aria-label="Close details" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {missing && <p>No plant has the id {id}.</p>}
      {error !== undefined && !missing && <ErrorNotice error={error} />}
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
        <dd>{plant.name === "" ? <em>empty</em> : plant.name}</dd>
        <dt>Tag</dt>
        <dd>
          {plant.tag ? (
            <Link class="tag" href={`/plants?${new URLSearchParams({ tag: plant.tag })}`}>
              {plant.tag}
            </Link>
          ) : (
            <em>{plant.tag === "" ? "empty" : "none"}</em>
          )}
        </dd>
        <dt>Created</dt>
        <dd>
          {formatTime(plant.createdAt)}
          <br />
          <span class="note">
            {formatRelativeTime(plant.createdAt)}
            <br />
            {plant.createdAt}
          </span>
        </dd>
        <dt>Created by</dt>
        <dd>
          <Link href={`/plants?${new URLSearchParams({ token: plant.createdBy })}`}>{plant.createdBy}</Link>
        </dd>
      </dl>
      <h3>JSON</h3>
      <pre class="code">{json}</pre>
      <div class="actions">
        <CopyButton text={plant.id} label="Copy id" />
        <CopyButton text={json} label="Copy JSON" />
      </div>
    </>
  );
}
