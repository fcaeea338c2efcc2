/** The JSON of the operator API. Ids are decimal strings, because JavaScript numbers would round them. */
export interface Plant {
  readonly id: string;
  readonly name: string;
  readonly tag?: string;
  readonly createdAt: string;
  readonly createdBy: string;
}

export interface PlantPage {
  readonly plants: readonly Plant[];
  readonly next?: string;
  /** The cursor after everything that is stored. */
  readonly newest: string;
  readonly searched: number;
}

/** What was stored after a cursor, the oldest first. */
export interface FollowPage extends PlantPage {
  readonly next: string;
}

export interface Me {
  /** Where clients reach the public listener, without a trailing slash. */
  readonly publicUrl: string;
  /** The limit of POST /plants. */
  readonly bodyBytesMax: number;
  readonly name: string;
  readonly scopes: readonly string[];
  /** The latest expiry of a token that this caller may create. */
  readonly tokensExpireBy?: string;
}

export interface Overview {
  // A value that is currently unavailable is omitted.
  readonly total?: string;
  readonly perMinute?: CountsOverTime;
  readonly perHour?: CountsOverTime;
  /** Since the start of the service, as are those over time. */
  readonly refusals: readonly { readonly error: number; readonly reason: string; readonly count: number }[];
  readonly ratePerSecond?: number;
  readonly store: {
    readonly engine: string;
    readonly ready: boolean;
    readonly bytes?: number;
    readonly walBytes?: number;
    readonly diskFreeBytes?: number;
    /** Null before the first backup. */
    readonly lastBackupAt?: string | null;
  };
  readonly version: string;
  readonly startedAt: string;
}

/** Consecutive minutes or hours. */
interface CountsOverTime {
  readonly from: string;
  readonly creates: readonly number[];
  readonly refusals: readonly number[];
}

/** What became of a line of an import. */
export type LineOutcome = "created" | "replayed" | { readonly error: number; readonly message: string };

/** A count that took too long continues from `next`. */
export interface MatchCounted {
  readonly plants: string;
  readonly next?: string;
}

export interface ServiceSettings {
  readonly settings: readonly { readonly name: string; readonly value: string; readonly source: string }[];
}

export interface Backups {
  /** Why backups are unavailable, if they are. */
  readonly unavailable?: string;
  readonly backups: readonly {
    readonly name: string;
    readonly at: string;
    readonly bytes: number;
    /** Up to the end of the last full block; the digest is that of these, and null if it is not known. */
    readonly coveredPlants: number;
    readonly digest: string | null;
    /** When it was found sound, if that was since the start of the service. */
    readonly verifiedAt?: string;
  }[];
  readonly task?: { readonly kind: "create" | "verify"; readonly name?: string };
  readonly last?: { readonly kind: "create" | "verify"; readonly name?: string; readonly problem?: string };
}

export interface Token {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  readonly createdBy: string;
  readonly lastUsedAt?: string;
  readonly state: "live" | "expired" | "revoked";
}

export interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly address?: string;
  readonly detail: string;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next?: string;
}

export interface MintedToken {
  readonly token: Token;
  readonly secret: string;
  readonly oldUntil?: string;
}
