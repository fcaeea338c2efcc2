import type { AuditTrail } from "../access/audit.ts";
import type { OidcSettings } from "../access/jwt-verifier.ts";
import type { ProviderKeys } from "../access/provider-keys.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { ListenerParts } from "../http/listener.ts";
import type { Handler } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Counters } from "../telemetry/counters.ts";
import type { SettingJson } from "./responses.ts";

/** What the operator listener works with. The routes of a subject get those of them that they use. */
export interface OperatorParts extends ListenerParts {
  readonly rateLimit: RateLimit | undefined;
  readonly archive: PlantArchive;
  readonly tokens: TokenStore;
  readonly tokenUpkeep: TokenUpkeep;
  readonly audit: AuditTrail;
  readonly counters: Counters;
  readonly engine: string;
  /** Undefined if the database has backups of its own. */
  readonly lastBackup: (() => Promise<{ readonly atMs: number } | undefined>) | undefined;
  /** Why backups are unavailable, if they are. */
  readonly backupStore: BackupStore | string;
  /** Undefined if there is no identity provider. */
  readonly oidc: OidcSettings | undefined;
  readonly providerKeys: ProviderKeys | undefined;
  readonly settings: readonly SettingJson[];
  /** Where clients reach the public listener, without a trailing slash. */
  readonly publicUrl: string;
  /** When the TLS certificate expires; undefined without TLS. */
  readonly certificateExpiresAtMs: number | undefined;
  /** What POST /plants does on the public listener. */
  readonly createPlant: Handler;
}

/** How many plants a backup has up to the end of its last full block, and the digest of these; null if there is none. */
export interface BackupDigest {
  readonly coveredPlants: number;
  readonly digest: string | null;
}

export interface Backup extends BackupDigest {
  readonly name: string;
  readonly atMs: number;
  readonly bytes: number;
}

/** The dated backups of the data file. */
export interface BackupStore {
  readonly folder: string;
  /** The newest first. */
  list(): readonly Backup[];
  create(atMs: number): Promise<{ readonly path: string }>;
  /** For a name that `list` returned, as `read` is: any other could lead out of the folder. */
  verify(name: string): Promise<BackupDigest & { readonly problems: readonly string[] }>;
  read(name: string): AsyncIterable<Uint8Array>;
}
