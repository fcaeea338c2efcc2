/** How many plants a store has up to the end of its last full block, and the digest of these. */
export interface StoreDigest {
  /** Zero before the first block is full; then there is no digest either. */
  readonly coveredPlants: number;
  readonly digest: string | null;
}

/** One part of a backup, a restore, a verification or a copy, for whoever waits for it. */
export interface Step {
  /** What is done to the file or the store, before whose name it stands: `copying`, `checking the rows of`. */
  readonly doing: string;
  readonly unit: "bytes" | "plants";
  readonly done: () => number;
  /** How much there is to do; 0 if nobody knows, or not yet. */
  readonly total: () => number;
}

/** Called when a part begins. */
export type OnStep = (step: Step) => void;

/** A backup that is complete, in a folder. It was checked when it was made. */
export interface Backup {
  readonly name: string;
  readonly atMs: number;
  readonly bytes: number;
}

/** A folder with the dated backups of a data file. */
export interface DatedBackups {
  /** The absolute path of the folder. */
  readonly folderPath: string;
  /** The absolute path of the data file. */
  readonly databasePath: string;
  /** Whether a backup is being made. Nothing can stop it but the end of the process. */
  readonly isBusy: boolean;
  /**
   * The newest first.
   * @throws Problem they cannot be listed.
   */
  list(): Promise<readonly Backup[]>;
  /**
   * Makes a backup. The warning is what else is wrong although it is complete.
   * @throws Problem there is none.
   */
  backUp(atMs: number): Promise<{
    readonly made: { readonly path: string };
    readonly warning: string | undefined;
  }>;
  /** Takes a name that `list` returned: any other could lead out of the folder. */
  read(name: string): AsyncIterable<Uint8Array>;
}

/** Where backups are made; without a folder for them, why not. */
export type ConfiguredBackups =
  | { readonly folder: DatedBackups; readonly unavailable: undefined }
  | { readonly folder: undefined; readonly unavailable: string };
