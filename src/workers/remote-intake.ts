import type { PlantIntake, Settle } from "../plants/intake.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Arrival } from "../plants/plant-store.ts";
import type { Channel } from "../threads/channel.ts";
import { arrivalsToText, outcomesFromText } from "./arrivals-text.ts";
import type { MainCalls } from "./messages.ts";

interface Waiting extends Arrival {
  readonly settle: Settle;
}

/** The main thread's intake as a worker sees it: the plants of one turn are sent as one message. */
export class RemoteIntake implements PlantIntake {
  readonly #main: Pick<Channel<MainCalls>, "ask">;
  readonly #onSettleFailed: (error: unknown) => void;
  #queue: Waiting[] = [];

  /** `onSettleFailed` is called when a plant's `settle` threw: an internal error, which concerns that plant's client alone. */
  constructor(main: Pick<Channel<MainCalls>, "ask">, onSettleFailed: (error: unknown) => void) {
    this.#main = main;
    this.#onSettleFailed = onSettleFailed;
  }

  create(plant: NewPlant, createdBy: string, settle: Settle): void {
    if (this.#queue.push({ plant, createdBy, settle }) === 1) setImmediate(() => void this.#send());
  }

  ready(): Promise<boolean> {
    return this.#main.ask("ready");
  }

  async #send(): Promise<void> {
    const batch = this.#queue;
    this.#queue = [];
    const text = await this.#main.ask("create", arrivalsToText(batch));
    const outcomes = outcomesFromText(text, batch.length);
    for (const [index, { settle }] of batch.entries()) {
      try {
        settle(outcomes[index] ?? "store-unavailable");
      } catch (error) {
        this.#onSettleFailed(error);
      }
    }
  }
}
