import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api.ts";
import type { Plant } from "../api-shapes.ts";
import { fromNow, moment } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { Trouble } from "../parts/notice.tsx";
import { useSurroundings } from "../session.ts";
import { newPlantBody } from "./new-plant-body.ts";

const noSuchPlant = 40402;

/** One plant with everything that is kept of it, beside the table. Escape closes it. */
export function PlantDetail({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { api } = useSurroundings();
  const [plant, setPlant] = useState<Plant>();
  const [trouble, setTrouble] = useState<unknown>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    api
      .get<Plant>(`/api/plants/${encodeURIComponent(id)}`, stop.signal)
      .then(setPlant)
      .catch((reason: unknown) => stop.signal.aborted || setTrouble(reason));
    return () => stop.abort();
  }, [api, id]);
  const settled = plant !== undefined || trouble !== undefined;
  useEffect(() => {
    if (settled) heading.current?.focus();
  }, [settled]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && document.querySelector("dialog[open]") === null) onClose();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  const missing = trouble instanceof ApiError && trouble.error === noSuchPlant;
  return (
    <aside class="detail card" aria-labelledby="detail-title">
      <header class="dialog-head">
        <h2 id="detail-title" ref={heading} tabIndex={-1}>
          {plant === undefined ? (missing ? "No such plant" : `Plant ${id}`) : plant.name || "(no name)"}
        </h2>
        <button type="button" class="bare" aria-label="Close the detail" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {missing && <p>No plant has the id {id}.</p>}
      {trouble !== undefined && !missing && <Trouble reason={trouble} />}
      {plant !== undefined && <Facts plant={plant} />}
    </aside>
  );
}

function Facts({ plant }: { readonly plant: Plant }) {
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
          {moment(plant.createdAt)}
          <br />
          <span class="note">
            {fromNow(plant.createdAt)}
            <br />
            {plant.createdAt}
          </span>
        </dd>
        <dt>Sent by</dt>
        <dd>
          <Link href={`/plants?${new URLSearchParams({ token: plant.createdBy })}`}>{plant.createdBy}</Link>
        </dd>
      </dl>
      <h3>As JSON</h3>
      <pre class="code">{json}</pre>
      <div class="actions">
        <CopyButton text={plant.id} label="Copy id" />
        <CopyButton text={json} label="Copy JSON" />
      </div>
    </>
  );
}
