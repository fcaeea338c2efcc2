import type { StoredPlant } from "../plants/plant-archive.ts";

/** A plant as the operator API and `--json` return it. The id is a string, so that no reader rounds it. */
export function presentPlant({ id, name, tag, createdAtMs, createdBy }: StoredPlant) {
  return { id: String(id), name, tag, createdAt: new Date(createdAtMs).toISOString(), createdBy };
}
