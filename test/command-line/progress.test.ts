// The line of progress of a long command, and what it says when Ctrl-C interrupts it.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withProgress } from "../../src/cli/data-file-command.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import type { OnStep, Step } from "../../src/plants/plant-backups.ts";
import { copyStore } from "../../src/storage/copy-store.ts";
import { openForReading, openStore } from "../../src/storage/open-store.ts";
import { streamBackup, writeBackup } from "../../src/storage/sqlite/maintenance/backup.ts";
import { restoreToNewFile } from "../../src/storage/sqlite/maintenance/restore.ts";
import { compareWith, verifyDataFile } from "../../src/storage/sqlite/maintenance/verify.ts";
import { advancedClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { fake } from "../support/fake.ts";
import { memoize } from "../support/memoize.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

// More than one page of a copy, and of an export.
const plants = 3000;
const manyPlants = 20_000;
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

/** The parts of a task, each with how far it was when the next one began: of the bytes, in percent. */
async function partsOf(task: (onStep: OnStep) => Promise<unknown>): Promise<string[]> {
  const parts: string[] = [];
  let current: Step | undefined;
  const end = (): void => {
    if (current === undefined) return;
    const { doing, unit } = current;
    const done = current.done();
    const total = current.total();
    const amount = unit === "plants" ? `${done} of ${total}` : `${Math.round((100 * done) / total)} %`;
    parts.push(`${doing.replace(/ \d+ kB/, "")}${total === 0 ? "" : `: ${amount}`}`);
  };
  await task((step) => {
    end();
    current = step;
  });
  end();
  return parts;
}

test("the parts of a long task are reported, with how much there is to do", async () => {
  const store = await newStore();
  const options = { databasePassword: undefined, allowUnsafeDatabase: false };
  await using from = await openForReading({ ...options, database: store });
  await using to = await openStore({ ...options, database: folder.newPath() });
  const stop = new AbortController().signal;

  const checkedCopy = [
    "checking all of the copy of",
    "checking the index of ids of the copy of: 3000 of 3000",
  ];
  // The last block is not full.
  const compared = "comparing the plants of: 2048 of 3000";
  const written = ["copying: 97 %", ...checkedCopy, compared, "computing the checksum of: 100 %"];
  expect({
    verify: await partsOf((onStep) => verifyDataFile(store, onStep)),
    "verify --against": await partsOf((onStep) => compareWith(store, store, onStep)),
    backup: await partsOf((onStep) => writeBackup(store, folder.newPath(), onStep)),
    "backup -": await partsOf((onStep) => streamBackup(store, async () => true, onStep)),
    restore: await partsOf((onStep) => restoreToNewFile(store, folder.newPath(), () => {}, onStep)),
    copy: await partsOf((onStep) => copyStore(from, to, { onStep, onFailed: () => {} }, stop)),
  }).toEqual({
    verify: [
      "checking all of",
      "checking the index of ids of: 3000 of 3000",
      "checking the rows of: 3000 of 3000",
    ],
    "verify --against": [compared],
    backup: written,
    "backup -": [...written, "writing the copy of: 100 %"],
    restore: ["computing the checksum of: 100 %", "copying: 97 %", ...checkedCopy, ...checkedCopy, compared],
    copy: ["copying the store: 3000 of 3000", "comparing both stores: 3000 of 3000"],
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

  test.each([
    ["verify --database STORE", "No file was changed."],
    ["backup NEW --database STORE", "There is no backup."],
    ["restore STORE --database NEW", "It is not restored."],
  ])("%s", async (line, ending) => {
    const newFile = folder.newPath();
    const args = line
      .replace("STORE", await newStore())
      .replace("NEW", newFile)
      .split(" ");
    const { code, err } = await runInterrupted(args);
    expect(code).toBe(130);
    expect(err).toStartWith("Interrupted");
    expect(err).toEndWith(`. ${ending} Run this again; it starts from the beginning.\n`);
    expect(existsSync(newFile)).toBe(false);
  });

  test("a task on a data file, from its beginning, with the step that it was at", async () => {
    const exit = Promise.withResolvers<number>();
    const signal = Promise.withResolvers<string>();
    const order: string[] = [];
    const terminal = fake<Terminal>({
      errCanRedraw: false,
      errIsTerminal: false,
      err: (text) => void order.push(text),
      waitForStopSignal() {
        order.push("waits for a signal");
        return signal.promise;
      },
      exitWithoutClosing(code) {
        exit.resolve(code);
        return new Promise<never>(() => {});
      },
    });
    const run = (onStep: OnStep) => {
      order.push("works");
      onStep({ doing: "copying", unit: "plants", done: () => 1500, total: () => 3000 });
      signal.resolve("SIGINT");
      return new Promise<never>(() => {});
    };
    void withProgress(terminal, { file: "plants.db", ifInterrupted: "There is no copy.", run });
    expect(await exit.promise).toBe(130);
    expect(order).toEqual([
      "waits for a signal",
      "works",
      "Interrupted while copying plants.db, after 1,500 of 3,000 plants. There is no copy. Run this again; it starts from the beginning.\n",
    ]);
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
    expect(again.err).toContain("3,000 compared, all identical.");
  });
});

test("export names the total on a terminal, and only there", async () => {
  const args = ["export", "--database", await newStore()];
  const onTerminal = await runInProcess(args, { terminal: { errIsTerminal: true } });
  expect(onTerminal.err).toBe("Exported 3,000 plants.\n");
  const elsewhere = await runInProcess(args);
  expect(elsewhere.err).toBe("");
});

test("import says how it read the file before it sends a row", async () => {
  const written = { out: "", err: "" };
  let saidBefore: string | undefined;
  using service = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      saidBefore ??= written.err;
      return Response.json({ name: "Fern" });
    },
  });
  const file = join(folder.path, "plants.csv");
  writeFileSync(file, "id;name\n1;Fern\n");
  const { code } = await runInProcess(["import", file, "--url", service.url.origin], {
    environment: accessTokenEnvironment,
    written,
  });
  expect(code).toBe(0);
  expect(saidBefore).toBe(`Read ${file} as CSV separated by semicolons.\n`);
});

test("an import whose service stops responding shows the share that is done, and then whom it waits for", async () => {
  const rows = 200;
  const answered = 100;
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
  using clock = advancedClock();
  const written = { out: "", err: "" };
  const waitForStopSignal = async () => {
    // The share of the rows that are done, not of what was read ahead.
    await eventually(() => written.err.includes("[########........]  50 %  100 created"));
    clock.advance(2000);
    await eventually(() => /Waiting for \S+ {2}100 created {2}0:00/.test(written.err));
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
  expect(err).toContain(`Waiting for ${service.url.origin}`);
});
