// Runs the commands of the documents as written, in an empty environment. Only their paths are replaced, and programs that need
// another machine are scripts.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Finished, main, start } from "../support/command.ts";
import { memoize } from "../support/memoize.ts";
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

describe("a backup to another machine, as documented,", () => {
  const commands = codeAfter("docs/backup.md", "**To another machine**");

  /** A machine with a data file, and a folder in place of the other one, on which one backup has arrived. */
  async function backUpOnce() {
    using cleanUp = new DisposableStack();
    const machine = cleanUp.use(newMachine());
    const folders = { "/mnt/backups": machine.folder("backups"), "/var/lib": machine.folder("var/lib") };
    const dataFile = join(machine.folder("var/lib/plant-store"), "plant-store.db");
    const other = machine.folder("backup.example.org");
    machine.program("ssh", `shift; cd "${other}" && exec sh -c "$*"`);
    /** Copies every file by this command, which gets the path of the copy as its last argument. */
    const copyBy = (copy: string) => {
      const each = `case $file in *:) ;; *) ${copy} "${other}/$(basename "$file")";; esac`;
      machine.program("scp", `for file; do ${each}; done`);
    };
    copyBy('cp "$file"');
    seedStore(dataFile, { plants: 3000 });
    const backUp = async () => (await machine.run(commands, folders)).code;
    expect(await backUp()).toBe(0);
    const [backup = "", ...others] = backupsIn(other);
    expect(others).toEqual([]);
    const owned = cleanUp.move();
    return {
      dataFile,
      other,
      backup,
      copyBy,
      backUp,
      restore: (path: string) =>
        runInProcess(["restore", path, "--database", join(machine.path, "restored.db")]),
      restored: () => storedPlants(join(machine.path, "restored.db")),
      [Symbol.dispose]: () => owned.dispose(),
    };
  }

  const backupsIn = (folder: string) => Object.keys(contentOf(folder)).filter((path) => path.endsWith(".db"));

  test("arrives complete", async () => {
    using machine = await backUpOnce();
    expect((await machine.restore(machine.backup)).code).toBe(0);
    expect(machine.restored()).toEqual(storedPlants(machine.dataFile));
  });

  test("of a damaged data file fails before anything is sent", async () => {
    using machine = await backUpOnce();
    const before = contentOf(machine.other);
    writeFileSync(machine.dataFile, readFileSync(machine.dataFile).subarray(0, cutBytes));
    expect(await machine.backUp()).not.toBe(0);
    expect(contentOf(machine.other)).toEqual(before);
  });

  describe("that arrives incomplete, which scp does not report,", () => {
    async function backUpIncompletely() {
      const machine = await backUpOnce();
      const before = contentOf(machine.other);
      machine.copyBy(`head -c ${cutBytes} "$file" >`);
      return { ...machine, before, code: await machine.backUp() };
    }

    test("fails", async () => {
      using machine = await backUpIncompletely();
      expect(machine.code).not.toBe(0);
    });

    test("harms no older one", async () => {
      using machine = await backUpIncompletely();
      expect(contentOf(machine.other)).toMatchObject(machine.before);
    });

    test("cannot be restored", async () => {
      using machine = await backUpIncompletely();
      const [incomplete = "none"] = backupsIn(machine.other).filter((path) => path !== machine.backup);
      expect(await machine.restore(incomplete)).toMatchObject({ code: 1 });
    });
  });
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

  describe("as a drill", () => {
    const commands = codeAfter("docs/backup.md", "## Restore");
    const drill = memoize(async () => {
      const before = contentOf(join(machine.path, "var"));
      const { code, out } = await run(commands);
      return { code, out, before, after: contentOf(join(machine.path, "var")) };
    });

    test("takes two commands", () => {
      expect(commands.match(/^plant-store /gm)).toHaveLength(2);
    });

    test("restores every plant", async () => {
      expect((await drill()).code).toBe(0);
      expect(storedPlants(join(machine.path, "home/drill/plant-store.db"))).toEqual(storedPlants(data));
    });

    test("lists five plants to look at", async () => {
      const { out } = await drill();
      expect(out.match(/^ *\d+ /gm)).toHaveLength(5);
    });

    test("changes nothing of the service's", async () => {
      const { before, after } = await drill();
      expect(after).toEqual(before);
    });
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

  test("of a damaged backup changes nothing, and the service is not started again", async () => {
    const before = readFileSync(data);
    const content = readFileSync(backup);
    writeFileSync(backup, content.subarray(0, cutBytes));
    expect((await run(inEarnest)).code).not.toBe(0);
    expect(readFileSync(data).equals(before)).toBe(true);
    expect(readFileSync(asked, "utf8")).toBe("stop plant-store\n");
    writeFileSync(backup, content);
  });

  describe("in earnest, of a damaged data file,", () => {
    const restoreInEarnest = memoize(async () => {
      const before = storedPlants(data);
      const damaged = readFileSync(data).fill(0, 0, 4096);
      writeFileSync(data, damaged);
      writeFileSync(asked, "");
      const { code } = await run(inEarnest);
      const [moved = "none"] = readdirSync(dirname(data)).filter((name) => name.includes(".db.before-"));
      return {
        code,
        before,
        damaged,
        after: storedPlants(data),
        moved: readFileSync(join(dirname(data), moved, "plant-store.db")),
        asked: readFileSync(asked, "utf8"),
      };
    });

    test("replaces it", async () => {
      const { code, before, after } = await restoreInEarnest();
      expect(code).toBe(0);
      expect(after).toEqual(before);
    });

    test("moves what was there away", async () => {
      const { damaged, moved } = await restoreInEarnest();
      expect(moved.equals(damaged)).toBe(true);
    });

    test("stops the service first, and starts it afterwards", async () => {
      expect((await restoreInEarnest()).asked).toBe("stop plant-store\nstart plant-store\n");
    });
  });
});

describe("an update, as documented,", () => {
  /**
   * A machine whose service runs in this process, and has a client up to the last moment of a stop. `installed` is a script in
   * place of the version that runs; a newer one is in the home folder.
   */
  async function newServingMachine(installed: (run: string) => string) {
    await using cleanUp = new AsyncDisposableStack();
    const machine = cleanUp.use(newMachine());
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
    const systemctl = {
      async start() {
        service = await startTestService({ database });
        writeFileSync(address, `127.0.0.1:${service.port}`);
        await send();
      },
      async stop() {
        if (service === undefined) return;
        await send();
        await service[Symbol.asyncDispose]();
        service = undefined;
      },
    };
    cleanUp.defer(systemctl.stop);
    const asked = cleanUp.use(
      Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        idleTimeout: 0,
        async fetch({ url }) {
          const command = new URL(url).pathname.slice(1);
          if (command === "start") await systemctl.start();
          else if (command === "stop") await systemctl.stop();
          return new Response();
        },
      }),
    );
    machine.program("systemctl", `exec ${bun} -e 'await fetch("${asked.url}'"$1"'")'`);
    const version = (name: string) =>
      `echo "${name} $1" >> "${used}"; PLANT_STORE_LISTEN=$(cat "${address}") exec ${bun} "${main}" "$@"`;
    machine.program("plant-store", installed(version("older")));
    machine.program("plant-store", version("newer"), machine.folder("home"));
    await systemctl.start();
    const owned = cleanUp.move();
    return {
      database,
      acknowledged,
      stop: systemctl.stop,
      /** Runs the commands below that heading of the page. */
      follow: (heading: string) =>
        machine.run(codeAfter("docs/install.md", heading), { "/var/lib": machine.folder("var/lib") }),
      /** The program that is installed. */
      installed: () => readFileSync(join(machine.path, "bin/plant-store"), "utf8"),
      /** Which version ran which command, in that order. */
      used: () => readFileSync(used, "utf8").trimEnd().split("\n"),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }

  test("whose backup fails installs nothing", async () => {
    await using machine = await newServingMachine(() => "exit 1");
    expect(await machine.follow("## Updating")).toMatchObject({ code: 1 });
    expect(machine.installed()).toContain("exit 1");
  });

  describe("that is rolled back", () => {
    const updateAndRollBack = memoize(async () => {
      await using machine = await newServingMachine((run) => run);
      expect(await machine.follow("## Updating")).toMatchObject({ code: 0 });
      expect(await machine.follow("## Rolling back")).toMatchObject({ code: 0 });
      await machine.stop();
      const { acknowledged } = machine;
      return { acknowledged, used: machine.used(), stored: storedPlants(machine.database) };
    });

    test("loses no acknowledged plant", async () => {
      const { acknowledged, stored } = await updateAndRollBack();
      expect(stored.map(({ id }) => id)).toEqual(acknowledged);
    });

    test("runs each command with the version that can", async () => {
      const { used } = await updateAndRollBack();
      expect(used).toEqual(["older backup", "newer export", "older restore", "older token", "older import"]);
    });
  });
});
