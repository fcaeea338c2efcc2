import { setTimeout as sleep } from "node:timers/promises";
import type { DataFileReplaced } from "./store.ts";

export interface RescueEvents {
  readonly dataFileSaved: (path: string) => void;
  readonly dataFileNotSaved: (reason: unknown) => void;
}

const retryAfterMs = 10_000;

/** Saves what only this process can still read under a new name, however often it has to try. */
export async function rescue(replaced: DataFileReplaced, events: RescueEvents): Promise<void> {
  for (;;) {
    try {
      return events.dataFileSaved(await replaced.rescue());
    } catch (error) {
      events.dataFileNotSaved(error);
    }
    await sleep(retryAfterMs);
  }
}
