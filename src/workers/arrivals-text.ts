import type { Rejected } from "../plants/intake.ts";
import type { Arrival, Outcome } from "../plants/plant-store.ts";

type Row = [id: string, name: string, tag: string | null, createdBy: string, trace?: string];

/** Plants as text for another thread. Ids go as decimals, so that none is rounded. */
export function arrivalsToText(arrivals: readonly Arrival[]): string {
  const row = ({ plant, createdBy, trace }: Arrival): Row => {
    const { id, name, tag = null } = plant;
    return trace === undefined
      ? [String(id), name, tag, createdBy]
      : [String(id), name, tag, createdBy, trace];
  };
  return JSON.stringify(arrivals.map(row));
}

export function arrivalsFromText(text: string): Arrival[] {
  return (JSON.parse(text) as Row[]).map(([id, name, tag, createdBy, trace]) => ({
    plant: { id: BigInt(id), name, tag: tag ?? undefined },
    createdBy,
    trace,
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
