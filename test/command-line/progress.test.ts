// The line of progress of a long command, and what it says when Ctrl-C interrupts it.
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

// More than one page of a copy, and of an export.
const plants = 20_000;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const store = folder.newPath();
seedStore(store, { plants, fromMs: Date.UTC(2026, 0, 1), untilMs: Date.UTC(2026, 1, 1) });

const startsOver = "Run this again; it starts from the beginning.";
// The signal comes with a timer: a command that never yields would not notice it.
test.each([
  ["verify --database STORE", `. No file was changed. ${startsOver}`],
  ["backup NEW --database STORE", `. There is no backup. ${startsOver}`],
  ["restore STORE --database NEW", `. It is not restored. ${startsOver}`],
  ["copy --from STORE --to NEW", ". Run this again; it resumes."],
  ["list --database STORE --limit 100000", `of which match. ${startsOver}`],
])("%s says what is done and how to go on when Ctrl-C interrupts it", async (line, ending) => {
  const args = line.replace("STORE", store).replace("NEW", folder.newPath()).split(" ");
  const waitForStopSignal = () => Bun.sleep(0).then(() => "SIGINT");
  const { code, out, err } = await runInProcess(args, { waitForStopSignal });
  expect(code).toBe(130);
  expect(out).toBe("");
  expect(err).toMatch(/^(?:Created .*\n)?Interrupted while /);
  expect(err).toEndWith(`${ending}\n`);
});

test("an export that a signal interrupts says that its output is not complete", async () => {
  const written = { out: "", err: "" };
  const waitForStopSignal = async () => {
    await eventually(() => written.out !== "", "the first rows", 0);
    return "SIGTERM";
  };
  const { code, out, err } = await runInProcess(["export", "--database", store], {
    written,
    waitForStopSignal,
  });
  expect(code).toBe(143);
  expect(err).toMatch(
    /^Interrupted while exporting as ndjson, after [\d,]+ plants\. The output is not complete\. Run /,
  );
  expect(out.split("\n").length).toBeLessThan(plants);
});

test("an import whose service does not respond shows the share that is done, and says that it waits", async () => {
  using service = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { id } = (await request.json()) as { id: number };
      return id <= 100 ? Response.json({ name: "Fern" }) : new Response("", { status: 503 });
    },
  });
  const file = join(folder.path, "half.ndjson");
  const lines = Array.from(
    { length: 200 },
    (_, row) => `{"id": ${String(row + 1).padStart(3)}, "name": "Fern"}\n`,
  );
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
  expect(err).toContain(`Waiting for ${service.url}, which`);
  expect(JSON.parse(written.out)).toMatchObject({
    created: 100,
    failure: "Interrupted after line 100. Run this again; it resumes.",
  });
});
