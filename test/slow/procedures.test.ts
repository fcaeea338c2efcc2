// Runs the commands of the documents as written, in an empty environment. Only their paths are replaced, and programs that need
// another machine are scripts.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Finished, main, start } from "../support/command.ts";
import { post } from "../support/post-plants.ts";
import { seedStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const root = join(import.meta.dir, "../..");
const bun = `"${process.execPath}"`;
const cutBytes = 100_000;

/** The first code block after this text. */
function codeAfter(page: string, text: string): string {
  const [, after = ""] = readFileSync(join(root, page), "utf8").split(text);
  const [, code = ""] = /```sh\n(.*?)```/s.exec(after) ?? [];
  expect(code).not.toBe("");
  return code;
}

/** A folder in place of a machine, with programs of its own. */
function newMachine() {
  const folder = temporaryFolder();
  const programs = join(folder.path, "bin");
  mkdirSync(programs);
  const machine = {
    path: folder.path,
    folder(name: string): string {
      mkdirSync(join(folder.path, name), { recursive: true });
      return join(folder.path, name);
    },
    program(name: string, script: string, to = programs): void {
      writeFileSync(join(to, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    },
    /** Runs the commands in its folder `home`, with these folders in place of those that they name. */
    async run(commands: string, folders: Readonly<Record<string, string>> = {}): Promise<Finished> {
      let script = commands;
      for (const [name, path] of Object.entries({ "/usr/local/bin": programs, ...folders }))
        script = script.replaceAll(name, path);
      const clean = ["-i", `PATH=${programs}:/usr/bin:/bin`, "sh", "-c", script];
      return start("env", clean, { folder: machine.folder("home") }).ended;
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
  machine.program("plant-store", `exec ${bun} "${main}" "$@"`);
  return machine;
}

/** A hash of every file in the folder and in those below it, by path. */
function contentOf(folder: string): Record<string, number | bigint> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.map((path) => [path, Bun.hash(readFileSync(path))]));
}

test("a backup to another machine, as documented, arrives complete, or fails and harms no older one", async () => {
  using machine = newMachine();
  const folders = { "/mnt/backups": machine.folder("backups"), "/var/lib": machine.folder("var/lib") };
  const dataFile = join(machine.folder("var/lib/plant-store"), "plant-store.db");
  const to = machine.folder("backup.example.org");
  machine.program("ssh", `shift; cd "${to}" && exec sh -c "$*"`);
  const scp = (copy: string) => {
    const each = `case $file in *:) ;; *) ${copy} "${to}/$(basename "$file")";; esac`;
    machine.program("scp", `for file; do ${each}; done`);
  };
  scp('cp "$file"');
  seedStore(dataFile, { plants: 3000 });
  const commands = codeAfter("docs/backup.md", "**To another machine**");
  const run = async () => (await machine.run(commands, folders)).code;
  const restored = join(machine.path, "restored.db");
  const restore = (path: string) => runInProcess(["restore", path, "--database", restored]);
  const backups = () => Object.keys(contentOf(to)).filter((path) => path.endsWith(".db"));

  expect(await run()).toBe(0);
  const [backup = "", ...others] = backups();
  expect(others).toEqual([]);
  expect((await restore(backup)).code).toBe(0);
  expect(storedPlants(restored)).toEqual(storedPlants(dataFile));
  rmSync(restored);

  const before = contentOf(to);
  const data = readFileSync(dataFile);
  writeFileSync(dataFile, data.subarray(0, cutBytes));
  expect(await run()).not.toBe(0);
  expect(contentOf(to)).toEqual(before);
  writeFileSync(dataFile, data);

  // A file arrives incomplete, and scp does not report it.
  scp(`head -c ${cutBytes} "$file" >`);
  expect(await run()).not.toBe(0);
  expect(contentOf(to)).toMatchObject(before);
  for (const path of backups().filter((one) => one !== backup))
    expect(await restore(path)).toMatchObject({ code: 1 });
});

describe("a restore, as documented,", () => {
  // A machine with a data file of 3,000 plants and its backup.
  const machine = newMachine();
  const lib = machine.folder("var/lib");
  const data = `${lib}/plant-store/plant-store.db`;
  const backups = machine.folder("var/lib/plant-store-backups");
  const asked = join(machine.path, "asked");
  let backup = "";
  beforeAll(async () => {
    seedStore(data, { plants: 3000 });
    expect(await runInProcess(["backup", backups, "--database", data])).toMatchObject({ code: 0 });
    backup = join(backups, readdirSync(backups).find((name) => name.endsWith(".db")) ?? "");
    machine.program("systemctl", `echo "$*" >> "${asked}"`);
  });
  beforeEach(() => writeFileSync(asked, ""));
  afterAll(() => machine[Symbol.dispose]());
  const run = (commands: string) => machine.run(commands, { "/var/lib": lib });
  const inEarnest = codeAfter("docs/backup.md", "To restore in earnest");

  test("as a drill takes two commands, and changes nothing of the service's", async () => {
    const drill = codeAfter("docs/backup.md", "## Restore");
    const before = contentOf(join(machine.path, "var"));
    expect(drill.match(/^plant-store /gm)).toHaveLength(2);
    const { code, out } = await run(drill);
    expect(code).toBe(0);
    expect(out.match(/^ *\d+ /gm)?.length).toBe(5);
    expect(contentOf(join(machine.path, "var"))).toEqual(before);
    expect(storedPlants(join(machine.path, "home/drill/plant-store.db"))).toEqual(storedPlants(data));
  });

  test("in a container makes a new volume", async () => {
    const volume = machine.folder("restored");
    // The environment of a container names the data file.
    const inContainer = `PLANT_STORE_DATABASE="${volume}/plant-store.db" exec plant-store "$@"`;
    // The image has the version in its name.
    const skipToImage = 'while case "$1" in plant-store:*) false ;; esac; do shift; done; shift';
    machine.program("docker", `${skipToImage}; ${inContainer}`);
    const commands = codeAfter("docs/backup.md", "A restore makes a new volume");
    const folders = { "/var/backups/plant-store": backups, '"/backups': `"${backups}` };
    expect(await machine.run(commands, folders)).toMatchObject({ code: 0 });
    expect(storedPlants(join(volume, "plant-store.db"))).toEqual(storedPlants(data));
  });

  test("changes nothing if the backup is damaged, and starts nothing", async () => {
    const before = readFileSync(data);
    const content = readFileSync(backup);
    writeFileSync(backup, content.subarray(0, cutBytes));
    expect((await run(inEarnest)).code).not.toBe(0);
    expect(readFileSync(data).equals(before)).toBe(true);
    expect(readFileSync(asked, "utf8")).toBe("stop plant-store\n");
    writeFileSync(backup, content);
  });

  test("in earnest replaces the data file and moves what was there away", async () => {
    const before = storedPlants(data);
    const damaged = readFileSync(data).fill(0, 0, 4096);
    writeFileSync(data, damaged);
    expect(await run(inEarnest)).toMatchObject({ code: 0 });
    expect(storedPlants(data)).toEqual(before);
    const moved = readdirSync(join(data, "..")).find((name) => name.startsWith("plant-store.db.before-"));
    expect(readFileSync(join(data, "..", moved ?? "", "plant-store.db")).equals(damaged)).toBe(true);
    expect(readFileSync(asked, "utf8")).toBe("stop plant-store\nstart plant-store\n");
  });
});

test("an update and a rollback, as documented, lose no acknowledged plant; a failed backup ends the update", async () => {
  using machine = newMachine();
  const database = join(machine.folder("var/lib/plant-store"), "plant-store.db");
  const used = join(machine.path, "used");
  const address = join(machine.path, "address");
  let service: TestService | undefined;
  const acknowledged: bigint[] = [];
  const send = async () => {
    const id = BigInt(acknowledged.length);
    expect((await post(service?.url ?? "", `{"id":${id},"name":"Fern"}`)).status).toBe(200);
    acknowledged.push(id);
  };
  // The service runs in this process, and has a client up to the last moment.
  const systemctl: Readonly<Record<string, () => Promise<void>>> = {
    async start() {
      service = await startTestService({ database });
      writeFileSync(address, `127.0.0.1:${service.port}`);
      await send();
    },
    async stop() {
      await send();
      await service?.[Symbol.asyncDispose]();
    },
  };
  using asked = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch({ url }) {
      await systemctl[new URL(url).pathname.slice(1)]?.();
      return new Response();
    },
  });
  machine.program("systemctl", `exec ${bun} -e 'await fetch("${asked.url}'"$1"'")'`);
  const version = (name: string, folder?: string) => {
    const run = `PLANT_STORE_LISTEN=$(cat "${address}") exec ${bun} "${main}" "$@"`;
    machine.program("plant-store", `echo "${name} $1" >> "${used}"; ${run}`, folder);
  };
  version("newer", machine.folder("home"));
  const run = (page: string) =>
    machine.run(codeAfter("docs/updating.md", page), { "/var/lib": machine.folder("var/lib") });

  await systemctl["start"]?.();
  machine.program("plant-store", "exit 1");
  expect(await run("# Updating")).toMatchObject({ code: 1 });
  expect(readFileSync(join(machine.path, "bin/plant-store"), "utf8")).toContain("exit 1");

  version("older");
  await systemctl["start"]?.();
  expect(await run("# Updating")).toMatchObject({ code: 0 });
  expect(await run("## Rolling back")).toMatchObject({ code: 0 });
  await systemctl["stop"]?.();
  const ran = ["older backup", "newer export", "older restore", "older token", "older import"];
  expect(readFileSync(used, "utf8").trimEnd().split("\n")).toEqual(ran);
  expect(storedPlants(database).map(({ id }) => id)).toEqual(acknowledged);
});
