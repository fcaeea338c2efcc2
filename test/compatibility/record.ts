// Records what this version promises, before it is released. With a PostgreSQL that has pg_dump:
// node scripts/with-bun.js test/compatibility/record.ts test/fixtures/VERSION /usr/lib/postgresql/15
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastBackupFile } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { createStatus, post } from "../support/post-plants.ts";
import { startPostgres } from "../support/postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startOpenService, type TestService } from "../support/test-service.ts";
import { accessToken, bearer } from "../support/tokens.ts";
import { extremes, onlyInWal } from "./recorded-plants.ts";
import { recordSurface } from "./surface.ts";

const [folder = "", installation = ""] = process.argv.slice(2);
mkdirSync(join(folder, "client"), { recursive: true });
writeFileSync(join(folder, "surface.json"), `${JSON.stringify(await recordSurface(), null, 2)}\n`);
execFileSync("npm", ["run", "build:client"]);
for (const name of ["errors", "in-order", "plant-store-client"])
  copyFileSync(`packages/client/dist/${name}.d.ts`, join(folder, `client/${name}.d.ts`));

using scratch = temporaryFolder();
const dataFile = join(scratch.path, "plants.db");
await using postgres = await startPostgres({ installation });
const database = await postgres.newDatabase();
const tokens = { dataFile: await fill(dataFile), postgres: await fill(database) };
writeFileSync(join(folder, "tokens.json"), `${JSON.stringify(tokens, null, 2)}\n`);

// A client that is older than the server cannot dump it.
const dump = execFileSync(join(installation, "bin/pg_dump"), ["--no-owner", "--inserts", database], {
  encoding: "utf8",
});
writeFileSync(join(folder, "postgres.sql"), dump.replace(/^\\(?:un)?restrict .*\n/gm, ""));
copyFileSync(dataFile, join(folder, "closed.db"));
await run("backup", join(folder, "backup.db"), "--database", dataFile);
copyFileSync(lastBackupFile(dataFile), lastBackupFile(join(folder, "closed.db")));
{
  await using service = await startOpenService(dataFile);
  await create(service, onlyInWal);
  for (const ending of ["", "-wal"]) copyFileSync(dataFile + ending, join(folder, `in-use.db${ending}`));
}

/** Fills a store, with one block of plants that has a digest, and returns the tokens that it has. */
async function fill(store: string) {
  const valid = await run("token", "create", "--name", "greenhouse", "--database", store);
  const revoked = await run("token", "create", "--name", "revoked", "--database", store);
  await run("token", "revoke", "revoked", "--database", store);
  await using service = await startOpenService(store);
  for (const plant of extremes) await create(service, plant, valid);
  for (let id = 1000; id < 2030; id++) await createStatus(service.url, id);
  return { valid, revoked };
}

async function create(
  service: TestService,
  { id, name, tag }: (typeof extremes)[number],
  token = accessToken,
): Promise<void> {
  const fields = [
    `"id":${id}`,
    `"name":${JSON.stringify(name)}`,
    ...(tag === null ? [] : [`"tag":${JSON.stringify(tag)}`]),
  ];
  const { status } = await post(service.url, `{${fields}}`, bearer(token));
  if (status !== 200) throw new Error(`${id}: ${status}`);
}

/** Runs a command, and returns what it prints. */
async function run(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await runInProcess(args);
  if (code !== 0) throw new Error(err);
  return out.trim();
}
