import type { TokenStore } from "../access/tokens.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { OutcomeUnknown, type PlantStore } from "../plants/plant-store.ts";

/** Everything that is stored, whichever engine stores it. */
export interface Store extends AsyncDisposable {
  readonly engine: "sqlite" | "postgres";
  readonly plants: PlantStore;
  readonly tokens: TokenStore;
  readonly archive: PlantArchive;
  /** Settles if the store can no longer vouch for what it holds: the process must end without closing it. */
  readonly failure?: Promise<OutcomeUnknown>;
  /** Where its server was away at the start: settles once it is open. Rejects with the problem that no waiting solves. */
  readonly opened?: Promise<void> | undefined;
}

/** What a store reports besides what it returns. */
export interface StoreEvents {
  /** Another process has the data file open, so the WAL cannot be emptied at the start. */
  readonly dataFileShared?: () => void;
  /** A sync failed in the last process, so everything is copied into a new file; `bytes` is how much. */
  readonly rebuilding?: (bytes: number) => void;
  /** A reader in another process keeps the WAL from restarting. */
  readonly walGrown?: (bytes: number) => void;
  /** A failure could not be noted beside the data file, so the next start does not know of it. */
  readonly markerNotWritten?: (reason: string) => void;
  /** The clock is minutes before the time of the last plant, so one of the two is wrong. */
  readonly clockBehind?: (lastMs: number, nowMs: number) => void;
}

/** The data file has no name any more: only this process can still read what it holds. */
export class DataFileReplaced extends OutcomeUnknown {
  /** Saves everything under a new name, which it gives. */
  readonly rescue: () => Promise<string>;

  constructor(message: string, rescue: () => Promise<string>) {
    super(message);
    this.rescue = rescue;
  }
}
