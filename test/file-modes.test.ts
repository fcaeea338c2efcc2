import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { serve } from "./command.ts";
import { accessToken, startTestService, temporaryFolder } from "./harness.ts";

/** The warnings about files that a service logs when its data file and token file have these modes. */
async function warnings(modes: { folder: number; data: number; token: number }): Promise<string[]> {
  using folder = temporaryFolder();
  const inner = join(folder.path, "data");
  mkdirSync(inner);
  chmodSync(inner, modes.folder);
  const [data, token] = [join(inner, "plants.db"), join(inner, "token")];
  writeFileSync(data, "");
  chmodSync(data, modes.data);
  writeFileSync(token, accessToken);
  chmodSync(token, modes.token);
  const environment = { PLANT_STORE_ACCESS_TOKEN_FILE: token };
  await using service = await serve(["--database", data], { environment });
  return service
    .err()
    .split("\n")
    .filter((line) => line.includes('"warn"'))
    .map((line) => String(JSON.parse(line).message).replaceAll(`${inner}/`, ""));
}

test("a data file and a token file that others can read or write cause warnings, with the mode and the fix", async () => {
  expect(await warnings({ folder: 0o755, data: 0o644, token: 0o602 })).toEqual([
    "other users can read or write token, which has mode 602; run chmod 600 on it",
    "other users can read or write plants.db, which has mode 644; run chmod 600 on it",
  ]);
});

test("a data file that the service creates, and its folders, are for its own user alone", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "new", "nested", "plants.db");
  await using _ = await startTestService({}, file);
  const modes = [dirname(dirname(file)), dirname(file), file, `${file}-wal`].map(
    (path) => statSync(path).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o700, 0o600, 0o600]);
});

test("files of the owner and the group, and files in a folder that others cannot enter, are not", async () => {
  expect(await warnings({ folder: 0o755, data: 0o660, token: 0o440 })).toEqual([]);
  expect(await warnings({ folder: 0o750, data: 0o644, token: 0o644 })).toEqual([]);
});
