import type { StoredPlant } from "./plant-archive.ts";

/** A plant as the operator's side shows it in JSON. The id is a string, so that no reader rounds it. */
export function shownPlant({ id, name, tag, createdAtMs, createdBy }: StoredPlant) {
  return { id: String(id), name, tag, createdAt: new Date(createdAtMs).toISOString(), createdBy };
}
