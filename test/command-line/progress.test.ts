// The line of progress of a long command, and what it says when Ctrl-C interrupts it.
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OnStep, Step } from "../../src/plants/plant-backups.ts";
import { restoreDataFile } from "../../src/storage/sqlite/copying/restore.ts";
import { eventually } from "../support/eventually.ts";
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

test("the parts of a restore are reported, each with how far it was when the next one began", async () => {
  const store = await newStore();
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
  const onStep: OnStep = (step) => {
    end();
    current = step;
  };
  await restoreDataFile(store, folder.newPath(), { replace: false, warn: () => {}, onStep });
  end();

  expect(parts).toEqual([
    "computing the checksum of: 100 %",
    "copying: 97 %",
    "checking all of the copy of",
    "checking the rows of the copy of: 3000 of 3000",
  ]);
});

describe("a command that Ctrl-C interrupts says what is done and how to go on", () => {
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
    const { code, err } = await runInProcess(args, { waitForStopSignal: async () => "SIGINT" });
    expect(code).toBe(130);
    expect(err).toStartWith("Interrupted");
    expect(err).toEndWith(`. ${ending} Run this again; it starts from the beginning.\n`);
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
      /^Interrupted while exporting as ndjson, after [\d,]+ plants\. The output is not complete\. Run this again; it starts from the beginning\.\n$/,
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
      /^Interrupted while searching, after [\d,]+ plants, [\d,]+ of which match\. Run this again; it starts from the beginning\.\n$/,
    );
  });

  test("copy", async () => {
    const store = await newStore();
    const target = folder.newPath();
    const { code, err } = await runInProcess(["copy", "--from", store, "--to", target], {
      waitForStopSignal,
    });
    expect(code).toBe(143);
    expect(err).toMatch(/Interrupted while (?:opening|copying) .*\. Run this again; it resumes\.\n$/);
  });
});

test("an import whose service does not respond shows the share that is done, and says that it waits", async () => {
  const rows = 200;
  const answered = 100;
  using service = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { id } = (await request.json()) as { id: number };
      return id < 1000 + answered ? Response.json({ name: "Fern" }) : new Response("", { status: 503 });
    },
  });
  const file = join(folder.path, "half.ndjson");
  const lines = Array.from({ length: rows }, (_, row) => `{"id": ${1000 + row}, "name": "Fern"}\n`);
  writeFileSync(file, lines.join(""));
  const written = { out: "", err: "" };
  const waitForStopSignal = async () => {
    // The share of the rows that are done, not of what was read ahead.
    await eventually(() =>
      /Importing \S+ as NDJSON {2}50 % {2}(?:\d:\d\d left {2})?100 created {2}/.test(written.err),
    );
    return "SIGINT";
  };
  const { code, err } = await runInProcess(["import", file, "--url", service.url.origin, "--json"], {
    environment: accessTokenEnvironment,
    written,
    waitForStopSignal,
    terminal: { errCanRedraw: true, errColumns: 200 },
  });
  expect(code).toBe(130);
  expect(err).toContain(`Waiting for ${service.url}\n`);
  expect(JSON.parse(written.out)).toMatchObject({
    created: 100,
    failure: "Interrupted after line 100. Run this again; it resumes.",
  });
});
