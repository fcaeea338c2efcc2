// The JSON that the operator API responds with, as far as others have names for it. JSON omits what is undefined. Whatever may exceed
// 2^53 is a decimal string, because JavaScript would round it.
import type { JsonFrom } from "./operator-table.ts";
import type { presentProvider } from "./sign-in.ts";

export type { AuditEntryJson } from "../access/audit.ts";
export type { TokenJson } from "../access/token.ts";
export type { LineOutcome, RefusedLineJson } from "./imports.ts";
export type { FollowPageJson } from "./plants.ts";

export type CallerJson = JsonFrom<"GET /api/me">;
export type OverviewJson = JsonFrom<"GET /api/overview">;
export type StoreJson = OverviewJson["store"];
export type SenderJson = JsonFrom<"GET /api/senders">["senders"][number];
export type RefusalsJson = JsonFrom<"GET /api/refusals">;
export type RefusalJson = RefusalsJson["refusals"][number];
export type PlantPageJson = JsonFrom<"GET /api/plants">;
export type DownloadLinkJson = JsonFrom<"POST /api/exports">;
export type MintedTokenJson = JsonFrom<"POST /api/tokens">;
export type AuditPageJson = JsonFrom<"GET /api/audit">;
export type BackupsJson = JsonFrom<"GET /api/backups">;
export type BackupJson = BackupsJson["backups"][number];

/** GET /api/identity-provider, if the console has a client there. None of it is secret. */
export type ProviderSignInJson = NonNullable<ReturnType<typeof presentProvider>>;
