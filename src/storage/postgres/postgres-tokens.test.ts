import { expect, mock, test } from "bun:test";
import { fake } from "../../../test/support/fake.ts";
import { auditEntry, testToken } from "../../../test/support/open-engine-store.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { PostgresAudit } from "./postgres-audit.ts";
import { PostgresTokens } from "./postgres-tokens.ts";

const token = testToken("new");
const entry = auditEntry("token.created");

test("the audit trail is trimmed after the entry of each change", async () => {
  const trim = mock(async () => {});
  const pool = fake<ConnectionPool>({ transaction: async () => true });
  const tokens = new PostgresTokens(pool, fake<PostgresAudit>({ trim }));
  await tokens.add(token, entry);
  expect(trim).toHaveBeenCalledTimes(1);
  await tokens.addReplacement(token, entry, []);
  expect(trim).toHaveBeenCalledTimes(2);
  await tokens.addCopy(token, entry);
  expect(trim).toHaveBeenCalledTimes(3);
  await tokens.addFirst(token, entry);
  expect(trim).toHaveBeenCalledTimes(4);
  await tokens.change([token], entry);
  expect(trim).toHaveBeenCalledTimes(5);
});
