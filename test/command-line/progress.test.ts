// The line of progress of a long command, and what it says when Ctrl-C interrupts it.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withProgress } from "../../src/cli/data-file-command.ts";
import { type Progress, showProgress } from "../../src/cli/progress.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import type { OnStep, Step } from "../../src/plants/plant-backups.ts";
import { copyStore } from "../../src/storage/copy-store.ts";
import { openForReading, openStore } from "../../src/storage/open-store.ts";
import { streamBackup, writeBackup } from "../../src/storage/sqlite/maintenance/backup.ts";
import { restoreToNewFile } from "../../src/storage/sqlite/maintenance/restore.ts";
import { compareWith, verifyDataFile } from "../../src/storage/sqlite/maintenance/verify.ts";
import { eventually } from "../support/eventually.ts";
import { fake } from "../support/fake.ts";
import { memoize } from "../support/memoize.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

// More than one page of an export, and of a copy.
const plants = 12_000;
const manyPlants = 40_000;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const seeded = memoize(async (count: number) => {
  const file = folder.newPath();
  seedStore(file, { plants: count, fromMs: Date.UTC(2026, 0, 1), untilMs: Date.UTC(2026, 1, 1) });
  return file;
});

async function newStore(count = plants): Promise<string> {
  return folder.newCopy(await seeded(count));
}

describe("the line of progress", () => {
  const drawn = (errCanRedraw: boolean) => {
    let err = "";
    const write = (text: string): void => {
      err += text;
    };
    const terminal = { errCanRedraw, errColumns: 80, err: write };
    const progress: Progress = { what: "Importing a.csv", done: 1, unit: "plants", share: 0.5 };
    const line = showProgress(terminal as Terminal, () => progress);
    return { line, err: () => err };
  };

  test("that was drawn is erased on disposal", async () => {
    const { line, err } = drawn(true);
    await eventually(() => err().includes("Importing a.csv  [########........]  50 %   1 plant"));
    line[Symbol.dispose]();
    expect(err()).toEndWith("\r\u001b[2K");
  });

  test("of a command that ends at once is not drawn", () => {
    const { line, err } = drawn(true);
    line[Symbol.dispose]();
    expect(err()).toBe("");
  });

  test("is not drawn where it could not be erased", async () => {
    const other = drawn(true);
    const { line, err } = drawn(false);
    await eventually(() => other.err() !== "");
    line[Symbol.dispose]();
    other.line[Symbol.dispose]();
    expect(err()).toBe("");
  });
});

describe("the parts of a long task are reported, with how much there is to do", () => {
  interface Part {
    readonly doing: string;
    readonly done: number;
    readonly total: number;
  }
  /** The parts of the task, each as far as it was when the next one began. */
  async function partsOf(task: (onStep: (step: Step) => void) => Promise<unknown>): Promise<Part[]> {
    const parts: Part[] = [];
    let current: Step | undefined;
    const end = (): void => {
      if (current !== undefined)
        parts.push({ doing: current.doing, done: current.done(), total: current.total() });
    };
    await task((step) => {
      end();
      current = step;
    });
    end();
    return parts;
  }

  test("by verify", async () => {
    const store = await newStore();
    const parts = await partsOf((onStep) => verifyDataFile(store, onStep));
    expect(parts).toEqual([
      { doing: expect.stringMatching(/^checking all \S+ MB of$/), done: 0, total: 0 },
      { doing: "checking the index of ids of", done: plants, total: plants },
      { doing: "checking the rows of", done: plants, total: plants },
    ]);
  });

  test("by verify --against", async () => {
    const store = await newStore();
    const [part] = await partsOf((onStep) => compareWith(store, store, onStep));
    expect(part).toMatchObject({ doing: "comparing the plants of", total: plants });
    expect(part?.done).toBeGreaterThan(plants - 1024);
  });

  test("by backup", async () => {
    const store = await newStore();
    const parts = await partsOf((onStep) => writeBackup(store, folder.newPath(), onStep));
    expect(parts.map(({ doing }) => doing)).toEqual([
      "copying",
      expect.stringMatching(/^checking all \S+ MB of the copy of$/),
      "checking the index of ids of the copy of",
      "comparing the plants of",
      "computing the checksum of",
    ]);
    const [copying, , index, , checksum] = parts;
    expect(index).toMatchObject({ done: plants, total: plants });
    expect(copying?.done).toBeGreaterThan(0.5 * (copying?.total ?? 0));
    expect(checksum?.done).toBeGreaterThan(0);
    expect(checksum?.done).toBe(checksum?.total ?? -1);
  });

  test("by backup -", async () => {
    const store = await newStore();
    const parts = await partsOf((onStep) => streamBackup(store, async () => true, onStep));
    const writing = parts.at(-1);
    expect(writing?.doing).toBe("writing the copy of");
    expect(writing?.done).toBeGreaterThan(0);
    expect(writing?.done).toBe(writing?.total ?? -1);
  });

  test("by copy", async () => {
    const database = await newStore();
    const options = { databasePassword: undefined, allowUnsafeDatabase: false };
    await using from = await openForReading({ ...options, database });
    await using to = await openStore({ ...options, database: folder.newPath() });
    const stop = new AbortController().signal;
    const parts = await partsOf((onStep) => copyStore(from, to, { onStep, onFailed: () => {} }, stop));
    expect(parts).toEqual([
      { doing: "copying the store", done: plants, total: plants },
      { doing: "comparing both stores", done: plants, total: plants },
    ]);
  });

  test("by restore", async () => {
    const store = await newStore();
    const parts = await partsOf((onStep) => restoreToNewFile(store, folder.newPath(), () => {}, onStep));
    expect(parts.map(({ doing }) => doing)).toEqual([
      "computing the checksum of",
      "copying",
      expect.stringMatching(/^checking all \S+ MB of the copy of$/),
      "checking the index of ids of the copy of",
      expect.stringMatching(/^checking all \S+ MB of the copy of$/),
      "checking the index of ids of the copy of",
      "comparing the plants of",
    ]);
  });
});

describe("a command that Ctrl-C interrupts says what is done and how to go on", () => {
  /** Runs a command whose process ends at a signal, which is there from the beginning. */
  async function runInterrupted(args: readonly string[]) {
    const exit = Promise.withResolvers<number>();
    const written = { out: "", err: "" };
    const exitWithoutClosing = (code: number) => {
      exit.resolve(code);
      return new Promise<never>(() => {});
    };
    const waitForStopSignal = async () => "SIGINT";
    const ended = runInProcess(args, { written, waitForStopSignal, terminal: { exitWithoutClosing } });
    return { code: await Promise.race([exit.promise, ended.then(({ code }) => code)]), ...written };
  }

  test("verify", async () => {
    const { code, err } = await runInterrupted(["verify", "--database", await newStore()]);
    expect(code).toBe(130);
    expect(err).toStartWith("Interrupted");
    expect(err).toEndWith(". No file was changed. Run this again; it starts from the beginning.\n");
  });

  test("backup", async () => {
    const store = await newStore();
    const backup = folder.newPath();
    const { code, err } = await runInterrupted(["backup", backup, "--database", store]);
    expect(code).toBe(130);
    expect(err).toContain("There is no backup. Run this again; it starts from the beginning.\n");
    expect(existsSync(backup)).toBe(false);
  });

  test("a task on a data file, with the step that it was at", async () => {
    const exit = Promise.withResolvers<number>();
    const signal = Promise.withResolvers<string>();
    const written: string[] = [];
    const terminal = fake<Terminal>({
      errCanRedraw: false,
      errIsTerminal: false,
      err: (text) => void written.push(text),
      waitForStopSignal: () => signal.promise,
      exitWithoutClosing(code) {
        exit.resolve(code);
        return new Promise<never>(() => {});
      },
    });
    const run = (onStep: OnStep) => {
      onStep({ doing: "copying", unit: "plants", done: () => 1500, total: () => 3000 });
      signal.resolve("SIGINT");
      return new Promise<never>(() => {});
    };
    void withProgress(terminal, { file: "plants.db", ifInterrupted: "There is no copy.", run });
    expect(await exit.promise).toBe(130);
    expect(written).toEqual([
      "Interrupted while copying plants.db, after 1,500 of 3,000 plants. There is no copy. Run this again; it starts from the beginning.\n",
    ]);
  });

  test("restore", async () => {
    const store = await newStore();
    const { code, err } = await runInterrupted(["restore", store, "--database", folder.newPath()]);
    expect(code).toBe(130);
    expect(err).toContain("It is not restored. Run this again; it starts from the beginning.\n");
  });

  /** The signal comes with a timer: a command that never yields would not notice it. */
  const waitForStopSignal = async () => {
    await Bun.sleep(0);
    return "SIGTERM";
  };

  test("export", async () => {
    const store = await newStore(manyPlants);
    const written = { out: "", err: "" };
    const afterFirstRows = async () => {
      await eventually(() => written.out !== "", "the first rows", 0);
      return "SIGTERM";
    };
    const options = { written, waitForStopSignal: afterFirstRows };
    const { code, out, err } = await runInProcess(["export", "--database", store], options);
    expect(code).toBe(143);
    expect(err).toMatch(
      /^Interrupted after [\d,]+ plants\. The output is not complete\. Run this again; it starts from the beginning\.\n$/,
    );
    const rows = out.split("\n").length - 1;
    expect(rows).toBeGreaterThan(0);
    expect(rows).toBeLessThan(manyPlants);
  });

  test("list", async () => {
    const store = await newStore(manyPlants);
    const { code, out, err } = await runInProcess(["list", "--database", store, "--limit", "100000"], {
      waitForStopSignal,
    });
    expect(code).toBe(143);
    expect(out).toBe("");
    expect(err).toMatch(
      /^Interrupted after [\d,]+ plants, [\d,]+ of which match\. Run this again; it starts from the beginning\.\n$/,
    );
  });

  test("list, after it has found as many as it prints", async () => {
    const args = ["list", "--database", await newStore(500), "--limit", "500"];
    // One signal, for whoever waits first.
    const signals = ["SIGTERM"];
    const waitForOneSignal = async () => signals.pop() ?? new Promise<never>(() => {});
    const { code, out, err } = await runInProcess(args, { waitForStopSignal: waitForOneSignal });
    expect(code).toBe(143);
    expect(out.trimEnd().split("\n")).toHaveLength(501);
    expect(err).toBe("Interrupted while searching for more.\n");
  });

  test("copy", async () => {
    const store = await newStore();
    const target = folder.newPath();
    const { code, err } = await runInProcess(["copy", "--from", store, "--to", target], {
      waitForStopSignal,
    });
    expect(code).toBe(143);
    expect(err).toMatch(
      /Interrupted\. [\d,]+ plants copied, 0 already stored, 0 tokens copied; 0 compared\. Run this again; it resumes\.\n$/,
    );
    const again = await runInProcess(["copy", "--from", store, "--to", target]);
    expect(again.code).toBe(0);
    expect(again.err).toContain("12,000 compared, all identical.");
  });
});

test("a task on a data file can be interrupted from its beginning", async () => {
  const order: string[] = [];
  const waitForStopSignal = () => {
    order.push("waits for a signal");
    return new Promise<string>(() => {});
  };
  const run = async () => void order.push("works");
  const terminal = fake<Terminal>({ waitForStopSignal, errCanRedraw: false });
  await withProgress(terminal, { file: "plants.db", ifInterrupted: "", run });
  expect(order).toEqual(["waits for a signal", "works"]);
});

describe("export", () => {
  test("names the total on a terminal", async () => {
    const store = await newStore();
    const { err } = await runInProcess(["export", "--database", store], {
      terminal: { errIsTerminal: true },
    });
    expect(err).toBe("Exported 12,000 plants.\n");
  });

  test("ends without a word off a terminal", async () => {
    const store = await newStore();
    const { err } = await runInProcess(["export", "--database", store]);
    expect(err).toBe("");
  });
});

test("import says how it read the file before it sends a row", async () => {
  await using service = await startTestService();
  const written = { out: "", err: "" };
  let saidBefore: string | undefined;
  using proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      saidBefore ??= written.err;
      return fetch(`${service.url}/plants`, {
        method: "POST",
        headers: request.headers,
        body: await request.text(),
      });
    },
  });
  const file = join(folder.path, "plants.csv");
  writeFileSync(file, "id;name\n1;Fern\n");
  const { code } = await runInProcess(["import", file, "--url", proxy.url.origin], {
    environment: accessTokenEnvironment,
    written,
  });
  expect(code).toBe(0);
  expect(saidBefore).toBe(`Read ${file} as CSV separated by semicolons.\n`);
});

describe("the line of an import whose service stops responding", () => {
  const rows = 200;
  const answered = 100;

  /** What the command has written once this text appears, with a service that answers only the first half of the rows. */
  async function writtenUntil(text: (url: string) => string): Promise<string> {
    const requestsLeft = Promise.withResolvers<Response>();
    using service = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const { id } = (await request.json()) as { id: number };
        return id < 1000 + answered ? Response.json({ name: "Fern" }) : requestsLeft.promise;
      },
    });
    const file = join(folder.path, "half.ndjson");
    const lines = Array.from({ length: rows }, (_, row) => `{"id": ${1000 + row}, "name": "Fern"}\n`);
    writeFileSync(file, lines.join(""));
    const written = { out: "", err: "" };
    const waitForStopSignal = async () => {
      await eventually(() => written.err.includes(text(service.url.origin)));
      return "SIGINT";
    };
    const { code, err } = await runInProcess(["import", file, "--url", service.url.origin], {
      environment: accessTokenEnvironment,
      written,
      waitForStopSignal,
      terminal: { errCanRedraw: true, errColumns: 200 },
    });
    requestsLeft.resolve(new Response());
    expect(code).toBe(130);
    return err;
  }

  test("has the share of the rows that are done, not of what was read ahead", async () => {
    const err = await writtenUntil(() => "100 created");
    expect(err).toContain("[########........]  50 %  100 created");
  });

  test("says whom it waits for", async () => {
    const err = await writtenUntil((url) => `Waiting for ${url}`);
    expect(err).toMatch(/Waiting for \S+ {2}100 created {2}0:00/);
  });
});
