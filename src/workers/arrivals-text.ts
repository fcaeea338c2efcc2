import type { Rejected } from "../plants/intake.ts";
import type { Arrival, Outcome } from "../plants/plant-store.ts";

/** One list for each field: a list of lists takes twice as long to write and to parse. */
interface Columns {
  /** An id that a JavaScript number would round is a decimal string. */
  readonly ids: (number | string)[];
  readonly names: string[];
  readonly tags: (string | null)[];
  readonly createdBy: string[];
}

/** Plants as text for another thread. */
export function arrivalsToText(arrivals: readonly Arrival[]): string {
  const columns: Columns = { ids: [], names: [], tags: [], createdBy: [] };
  for (const { plant, createdBy } of arrivals) {
    const number = Number(plant.id);
    columns.ids.push(Number.isSafeInteger(number) ? number : String(plant.id));
    columns.names.push(plant.name);
    columns.tags.push(plant.tag ?? null);
    columns.createdBy.push(createdBy);
  }
  return JSON.stringify(columns);
}

export function arrivalsFromText(text: string): Arrival[] {
  const { ids, names, tags, createdBy } = JSON.parse(text) as Columns;
  return ids.map((id, index) => ({
    plant: { id: BigInt(id), name: names[index] as string, tag: tags[index] ?? undefined },
    createdBy: createdBy[index] as string,
  }));
}

/** Usually all are created, and then the text is empty. */
export function outcomesToText(outcomes: readonly (Outcome | Rejected)[]): string {
  const allCreated = outcomes.every((outcome) => typeof outcome !== "string" && outcome.kind === "created");
  return allCreated ? "" : JSON.stringify(outcomes);
}

export function outcomesFromText(text: string, count: number): (Outcome | Rejected)[] {
  return text === ""
    ? new Array<Outcome>(count).fill({ kind: "created" })
    : (JSON.parse(text) as (Outcome | Rejected)[]);
}
