import type { AuditTrail } from "../access/audit.ts";
import type { ProviderKeys } from "../access/provider-keys.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { Listener, ListenerDependencies } from "../http/listener.ts";
import type { Handler } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { ConfiguredBackups } from "../plants/plant-backups.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** What the operator listener shows and manages. `operatorRoutes` passes the routes of each subject only what they use. */
export interface OperatorDependencies {
  readonly listenerDependencies: ListenerDependencies;
  readonly store: OperatedStore;
  readonly tokenUpkeep: TokenUpkeep;
  readonly backups: ConfiguredBackups;
  readonly metrics: Metrics;
  /** Undefined if there is none. */
  readonly identityProvider: ProviderKeys | undefined;
  /** The value that each setting has, and where it is from. */
  readonly effectiveSettings: readonly ListedSetting[];
  /** Where clients send plants. Both listeners have the same certificate. */
  readonly publicListener: Pick<Listener, "url" | "certificateExpiresAtMs">;
  /** The limit of POST /plants, which imports share. */
  readonly rateLimit: RateLimit | undefined;
  /** The limit of a body of POST /plants, which is also that of an import's line. */
  readonly bodyBytesMax: number;
  /** What POST /plants does on the public listener. */
  readonly createPlant: Handler;
  /** When the service started to serve. Overview, refusals and metrics name it as the time from which they count. */
  readonly startedAtMs: number;
}

/** The parts of the store that an operator sees. */
export interface OperatedStore {
  readonly engine: "sqlite" | "postgres";
  readonly archive: PlantArchive;
  readonly tokens: TokenStore;
  readonly audit: AuditTrail;
  /** When the last backup was started; absent if the database has backups of its own. */
  readonly lastBackup?: () => Promise<{ readonly atMs: number } | undefined>;
}

/** A setting as `plant-store config` lists it. A secret has no value here. */
interface ListedSetting {
  readonly name: string;
  /** The heading under which `serve --help` has it, such as `Storage`. */
  readonly group: string;
  /** What it is for, in one phrase. */
  readonly meaning: string;
  readonly value: string;
  readonly source: string;
}
