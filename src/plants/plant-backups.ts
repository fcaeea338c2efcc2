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

/** The backups in the folder. */
export type ListedBackups =
  | { readonly backups: readonly Backup[]; readonly problem: undefined }
  | {
      readonly backups: readonly [];
      /** Why they cannot be listed, in a sentence for the operator, who can solve it. */
      readonly problem: string;
    };

/** What became of a backup that was asked for. */
export type RequestedBackup =
  | {
      readonly path: string;
      /** What else is wrong although the backup is complete. */
      readonly warning: string | undefined;
      readonly problem: undefined;
    }
  | {
      readonly path: undefined;
      readonly warning: undefined;
      /** Why there is no backup, in a sentence for the operator, who can solve it. */
      readonly problem: string;
    };

/** A folder with the dated backups of a data file. What the operator can solve is returned, not thrown. */
export interface DatedBackups {
  /** The absolute path of the folder. */
  readonly folderPath: string;
  /** The absolute path of the data file. */
  readonly databasePath: string;
  /** The newest first. */
  list(): Promise<ListedBackups>;
  /** Makes a backup. */
  backUpOnRequest(atMs: number): Promise<RequestedBackup>;
  /** Takes a name that `list` returned: any other could lead out of the folder. */
  read(name: string): AsyncIterable<Uint8Array>;
}

/** Where backups are made; without a folder for them, why not. */
export type ConfiguredBackups =
  | { readonly folder: DatedBackups; readonly unavailable: undefined }
  | { readonly folder: undefined; readonly unavailable: string };
