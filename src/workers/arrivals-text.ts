import type { Arrival, Outcome } from "../plants/plant-store.ts";

type Row = [id: string, name: string, tag: string | null, createdBy: string];

/** A batch as text for another thread. Ids go as decimals, so that none is rounded. */
export function arrivalsToText(batch: readonly Arrival[]): string {
  return JSON.stringify(
    batch.map(({ plant, createdBy }): Row => [String(plant.id), plant.name, plant.tag ?? null, createdBy]),
  );
}

export function arrivalsFromText(text: string): Arrival[] {
  return (JSON.parse(text) as Row[]).map(([id, name, tag, createdBy]) => ({
    plant: { id: BigInt(id), name, tag: tag ?? undefined },
    createdBy,
  }));
}

/** Most batches are all created, and then the text is empty. */
export function outcomesToText(outcomes: readonly Outcome[]): string {
  return outcomes.every(({ kind }) => kind === "created") ? "" : JSON.stringify(outcomes);
}

export function outcomesFromText(text: string, count: number): Outcome[] {
  return text === "" ? new Array<Outcome>(count).fill({ kind: "created" }) : (JSON.parse(text) as Outcome[]);
}
