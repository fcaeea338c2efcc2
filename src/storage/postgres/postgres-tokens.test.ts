import { expect, mock, test } from "bun:test";
import { fake } from "../../../test/support/fake.ts";
import { auditEntry, testToken } from "../../../test/support/open-engine-store.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { PostgresAudit } from "./postgres-audit.ts";
import { PostgresTokens } from "./postgres-tokens.ts";

const token = testToken("new");
const entry = auditEntry("token.created");

test.each<[what: string, write: (tokens: PostgresTokens) => Promise<void>]>([
  ["a new token", (tokens) => tokens.add(token, entry)],
  ["a replacement", (tokens) => tokens.addReplacement(token, entry, [])],
  ["a copy", (tokens) => tokens.addCopy(token, entry)],
  ["the first token", (tokens) => tokens.addFirst(token, entry)],
  ["a change", (tokens) => tokens.change([token], entry)],
])("the audit trail is trimmed after the entry of %s", async (_, write) => {
  const pool = fake<ConnectionPool>({ query: async () => [["1"]] });
  const trim = mock(async () => {});
  await write(new PostgresTokens(pool, fake<PostgresAudit>({ trim })));
  expect(trim).toHaveBeenCalledTimes(1);
});
