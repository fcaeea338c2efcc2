import type { OperatorApi } from "../api.ts";
import type { MatchCounted } from "../api-shapes.ts";

export interface Counted {
  readonly plants: number;
  /** Whether the count is complete, or only so far. */
  readonly done: boolean;
}

/** Counts the plants that match a filter of the operator API, which takes up to half a second per part, for as long as it may continue. */
export async function countMatches(
  api: OperatorApi,
  filter: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onPart: (counted: Counted) => boolean,
): Promise<void> {
  let plants = 0;
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams(cursor === undefined ? filter : { ...filter, cursor });
    const part = await api.get<MatchCounted>(`/api/plants/count?${query}`, signal);
    plants += Number(part.plants);
    cursor = part.next;
    if (!onPart({ plants, done: cursor === undefined })) return;
  } while (cursor !== undefined);
}
