// The JSON that the operator API responds with, as far as it has names; the rest has the types of `operator-table.ts`. JSON omits
// what is undefined. Whatever may exceed 2^53 is a decimal string, because JavaScript would round it.
import type { AuditEntryJson } from "../access/audit.ts";
import type { Scope } from "../access/scopes.ts";
import type { TokenJson } from "../access/token.ts";
import type { StoredPlantJson } from "../files/plant-json.ts";

export type { AuditEntryJson, TokenJson };

/** GET /api/me, and POST /api/sign-in. */
export interface CallerJson {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Of a token in the store. */
  readonly tokenId: string | undefined;
  /** Whether the token is a JWT of the identity provider: then it ends with the session there. */
  readonly hasJwt: boolean;
  /** The latest expiry of a token that this caller may create; undefined if it may create one that never expires. */
  readonly tokensExpireBy: string | undefined;
  /** Where clients reach the public listener, without a trailing slash. */
  readonly publicUrl: string;
  /** The limit of POST /plants. */
  readonly bodyBytesMax: number;
}

/** GET /api/identity-provider, if there is a provider: what a browser needs to sign in there. None of it is secret. */
export interface ProviderSignInJson {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  /** The scopes to request, with spaces between them. */
  readonly scope: string;
  /** Both endpoints are undefined while the provider does not respond. */
  readonly authorizationEndpoint: string | undefined;
  readonly tokenEndpoint: string | undefined;
}

/** GET /api/overview. A value that cannot be read at the moment is undefined. */
export interface OverviewJson {
  readonly total: string | undefined;
  readonly perMinute: CountsOverTimeJson | undefined;
  readonly perHour: CountsOverTimeJson | undefined;
  /** Plants created per second, the mean of the last minute. */
  readonly ratePerSecond: number | undefined;
  /** The refusals of the public listener. */
  readonly refused: { readonly inLastMinute: number; readonly sinceStart: number };
  readonly store: StoreJson;
  readonly version: string;
  readonly startedAt: string;
}

/** The counts of consecutive minutes or hours. Refusals are known since the start of the service only. */
export interface CountsOverTimeJson {
  readonly from: string;
  readonly creates: readonly number[];
  readonly refusals: readonly number[];
}

/** GET /api/refusals: for each error, the senders that got it last since the start of the service, the last one first. */
export interface RefusalsJson {
  readonly startedAt: string;
  /** How many senders are listed for each error at most. */
  readonly sendersPerErrorMax: number;
  readonly refusals: readonly RefusalJson[];
}

/** How often a sender got an error; the other fields are those of the last time. */
export interface RefusalJson {
  readonly error: number;
  /** When the service responds with this error. */
  readonly reason: string;
  /** The error's entry on the docs page; undefined if only the operator listener responds with it. */
  readonly docsUrl: string | undefined;
  readonly listener: "public" | "operator";
  /** The name of the sender's token; undefined if it is not known. */
  readonly token: string | undefined;
  /** Undefined if the token is known. An IPv6 address stands here as its network of 64 bits. */
  readonly address: string | undefined;
  readonly count: number;
  readonly lastAt: string;
  /** Tokens are masked. One that quotes the path or the host is not recorded. */
  readonly message: string;
  /** Tokens are masked. */
  readonly requestId: string;
}

/** GET /api/senders: what someone has sent to this node since it started. */
export interface SenderJson {
  /** Of a token, or of a caller of the identity provider. */
  readonly name: string;
  readonly lastPlantAt: string | undefined;
  readonly refusals: number;
  readonly lastRefusalAt: string | undefined;
  /** When a token was last used, if it has sent nothing since the start. */
  readonly lastUsedAt: string | undefined;
}

/** On PostgreSQL, the sizes and the last backup are undefined. */
export interface StoreJson {
  readonly engine: string;
  /** As `/readyz` says. */
  readonly ready: boolean;
  readonly bytes: number | undefined;
  readonly walBytes: number | undefined;
  readonly diskFreeBytes: number | undefined;
  /** Null before the first backup. */
  readonly lastBackupAt: string | null | undefined;
}

/** GET /api/plants. */
export interface PlantPageJson {
  readonly plants: readonly StoredPlantJson[];
  /** The cursor of the next page; undefined at the end. */
  readonly next: string | undefined;
  readonly searched: number;
}

/** GET /api/plants with `after`: what was stored after that cursor, each plant once, in one order. */
export interface FollowPageJson {
  readonly plants: readonly FollowedPlantJson[];
  /** The cursor to go on with, even if there are no plants. */
  readonly next: string;
  /** Whether there is more to read now. */
  readonly more: boolean;
  /** The time of the read, by the clock that plants have their times from. */
  readonly now: string;
  /** Every plant that was stored before this time is on this page or an earlier one, unless there is more. */
  readonly completeTo: string | undefined;
  /** Since when a transaction on the server keeps newer plants waiting; undefined unless it has taken over two seconds. */
  readonly waitingSince: string | undefined;
  readonly searched: number;
}

export interface FollowedPlantJson extends StoredPlantJson {
  /** The cursor to go on with after this plant. */
  readonly cursor: string;
}

/** GET /api/plants/count. A count that takes too long continues from `next`. */
export interface PlantCountJson {
  readonly plants: string;
  readonly next: string | undefined;
  /** The time of the newest plant when it was counted: younger ones are not in the count. Undefined in an empty store. */
  readonly newestAt: string | undefined;
}

/** POST /api/exports, and POST /api/backups/{name}/link: a link that works once. */
export interface DownloadLinkJson {
  readonly url: string;
}

/** What became of one line of an import. */
export type LineOutcome = "created" | "replayed" | RefusedLineJson;

export interface RefusedLineJson {
  readonly error: number;
  readonly message: string;
  /** The message without what differs from line to line, by which the console groups them. */
  readonly reason: string;
  /** The line and column that the message names, both from 1; undefined if it names none. */
  readonly position?: { readonly line: number; readonly column: number } | undefined;
}

/** POST /api/tokens, and POST /api/tokens/{id}/rotate: a token with its secret, which no other response has. */
export interface MintedTokenJson {
  readonly token: TokenJson;
  readonly secret: string;
  /** Until when the secret that was replaced stays valid; undefined for a new token. */
  readonly oldUntil: string | undefined;
}

/** GET /api/audit, the newest first. */
export interface AuditPageJson {
  readonly entries: readonly AuditEntryJson[];
  readonly next: string | undefined;
}

/** A setting as `plant-store config` lists it. A secret has no value here. */
export interface SettingJson {
  readonly name: string;
  /** The heading under which `serve --help` has it, such as `Storage`. */
  readonly group: string;
  /** What it is for, in one phrase, as `serve --help` has it. */
  readonly meaning: string;
  readonly value: string;
  readonly source: string;
}

/** GET /api/backups. */
export interface BackupsJson {
  /** Why backups are unavailable; undefined if they are available. */
  readonly unavailable: string | undefined;
  readonly folder: string | undefined;
  readonly backups: readonly BackupJson[];
  /** Whether one is being made. */
  readonly isRunning: boolean;
  /** How the last one since the start of the service ended. */
  readonly last: BackupResultJson | undefined;
}

export interface BackupJson {
  readonly name: string;
  readonly at: string;
  readonly bytes: number;
  /** What puts the backup in the place of the data file, once the service is stopped. */
  readonly restoreCommand: string;
}

export interface BackupResultJson {
  /** The name of the backup; undefined if there is none. */
  readonly name: string | undefined;
  /** Undefined if it was made. */
  readonly problem: string | undefined;
  /** What else is wrong although it was made. */
  readonly warning?: string | undefined;
}
