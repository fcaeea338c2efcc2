// Stores of any engine, opened as a service or a command opens them, and what the tests of stores put in and ask for.
import type { AuditEntry } from "../../src/access/audit.ts";
import type { Token } from "../../src/access/token.ts";
import type { PageRequest } from "../../src/plants/plant-archive.ts";
import { openStore, openTokens } from "../../src/storage/open-store.ts";
import type { Store } from "../../src/storage/store.ts";
import { minuteMs } from "../../src/text/duration.ts";
import type { Databases } from "./postgres.ts";

const settingOf = (database: string) => ({
  database,
  databasePassword: undefined,
  allowUnsafeDatabase: false,
});

/** The store at this address, as the service opens it. */
export function openStoreAt(database: string): Promise<Store> {
  return openStore(settingOf(database));
}

/** An empty store that no other test uses. */
export async function openNewStore(engine: Pick<Databases, "newDatabase">): Promise<Store> {
  return openStoreAt(await engine.newDatabase());
}

/** The tokens of the store at this address, as a command opens them in a process of its own. */
export function openTokensAt(database: string, options: { readonly mayCreate: boolean }) {
  return openTokens(settingOf(database), options);
}

/** A request for a page of ten plants, the newest first, without a filter, or with what is given instead. */
export function pageRequest(more: Partial<PageRequest>): PageRequest {
  return {
    filter: {},
    order: "newest-first",
    cursor: undefined,
    limit: 10,
    searchMsMax: minuteMs,
    ...more,
  };
}

/** An entry of the audit trail, at 7 ms. */
export function auditEntry(action: AuditEntry["action"], more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    atMs: 7,
    actor: "test",
    action,
    subject: "it",
    address: undefined,
    detail: "",
    ...more,
  };
}

/** A token that was created at 5 ms and never expires. */
export function testToken(digest: string, more: Partial<Token> = {}): Token {
  return {
    id: digest.slice(0, 2),
    name: `name of ${digest}`,
    digest,
    scopes: ["plants:create", "operator"],
    createdAtMs: 5,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    createdBy: "os:somebody",
    lastUsedAtMs: undefined,
    ...more,
  };
}
