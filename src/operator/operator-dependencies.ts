import type { AuditTrail } from "../access/audit.ts";
import type { OidcSettings } from "../access/jwt-verifier.ts";
import type { ProviderKeys } from "../access/provider-keys.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { ListenerDependencies } from "../http/listener.ts";
import type { Handler } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Counters } from "../telemetry/counters.ts";
import type { BackupStore } from "./backups.ts";
import type { SettingJson } from "./responses.ts";

/** What the operator listener shows and manages. The routes of a subject get those of them that they use. */
export interface OperatorDependencies extends ListenerDependencies {
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
