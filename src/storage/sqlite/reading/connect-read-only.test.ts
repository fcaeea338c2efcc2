import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { lockForWriting, tryLock } from "../data-file/writer-lock.ts";
import { connectReadOnly } from "./connect-read-only.ts";

test("a connection that cannot be opened leaves the writer lock free", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "missing.db");
  // The lock file stays.
  lockForWriting(path)[Symbol.dispose]();
  expect(() => connectReadOnly(path)).toThrow("unable to open database file");
  using lock = tryLock(path);
  expect(lock).toBeDefined();
});
