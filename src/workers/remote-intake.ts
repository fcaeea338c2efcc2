import type { PlantIntake, Settle } from "../plants/intake.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Arrival } from "../plants/plant-store.ts";
import { arrivalsToText, outcomesFromText } from "./arrivals-text.ts";
import type { FromWorker } from "./messages.ts";

interface Sent extends Arrival {
  readonly settle: Settle;
}

/** The main thread's intake as a worker sees it: the plants of one turn go over as one message. */
export class RemoteIntake implements PlantIntake {
  readonly #tell: (message: FromWorker) => void;
  readonly #sent = new Map<number, readonly Sent[]>();
  readonly #asked = new Map<number, (ready: boolean) => void>();
  #gathering: Sent[] = [];
  #number = 0;

  constructor(tell: (message: FromWorker) => void) {
    this.#tell = tell;
  }

  create(plant: NewPlant, createdBy: string, settle: Settle): void {
    if (this.#gathering.push({ plant, createdBy, settle }) === 1) setImmediate(() => this.#send());
  }

  ready(): Promise<boolean> {
    const question = this.#number++;
    return new Promise((resolve) => {
      this.#asked.set(question, resolve);
      this.#tell({ kind: "ready?", question });
    });
  }

  /** The main thread says what became of a batch. */
  settle(batch: number, text: string): void {
    const sent = this.#sent.get(batch) ?? [];
    this.#sent.delete(batch);
    const outcomes = outcomesFromText(text, sent.length);
    for (const [index, { settle }] of sent.entries()) settle(outcomes[index] ?? "store-unavailable");
  }

  /** The main thread says whether plants can be stored. */
  answer(question: number, ready: boolean): void {
    this.#asked.get(question)?.(ready);
    this.#asked.delete(question);
  }

  #send(): void {
    const batch = this.#number++;
    const arrivals = this.#gathering;
    this.#gathering = [];
    this.#sent.set(batch, arrivals);
    this.#tell({ kind: "arrivals", batch, arrivals: arrivalsToText(arrivals) });
  }
}
