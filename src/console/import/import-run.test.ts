import { describe, expect, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { fake } from "../../../test/support/fake.ts";
import { chooseFile, createAll, importWith, unansweredApi } from "../../../test/support/import-with.ts";
import type { LineOutcome } from "../../operator/responses.ts";
import { ApiError } from "../api.ts";
import { ImportRun, TabImport } from "./import-run.ts";

const temporary = new ApiError("The service is shutting down.", 50303);
const final = new ApiError("The token lacks the scope plants:create.", 40301);
const failWith = (error: ApiError) => (): never => {
  throw error;
};

describe("the preview of a file", () => {
  test("has its first rows, and what a check of its first part has found", async () => {
    const run = await chooseFile("rows.csv", `id,name\n1,a\n2\nx,c\n${"4,d\n".repeat(1500)}`);
    expect(run.state).toBe("ready");
    expect(run.source).toBe("CSV");
    expect(run.firstPlants.map(({ id }) => id)).toEqual([1n, 4n, 4n]);
    expect(run.preview).toMatchObject({ rows: 1000, valid: 998, refused: 2 });
    expect(run.preview.groups).toMatchObject([
      { reason: "The row does not have as many fields as the header.", count: 1 },
      { reason: 'Field "id" must be an integer, but is a string.', count: 1 },
    ]);
    expect(run.isPreviewComplete).toBe(false);
    const short = await chooseFile("rows.json", '[{"id":1,"name":"a"}]');
    expect([short.isPreviewComplete, short.share]).toEqual([true, 0]);
  });

  test("ends after 256 KiB", async () => {
    const run = await chooseFile("rows.ndjson", `{"id":1,"name":"${"x".repeat(900)}"}\n`.repeat(500));
    expect(run.preview.rows).toBe(286);
  });

  test("of a file that is broken says where, and has the rows before, which can be imported", async () => {
    const run = await chooseFile("rows.csv", 'id,name\n1,a\n2,5" pot\n');
    expect(run.firstPlants).toHaveLength(1);
    expect(String(run.error)).toContain("The row that starts on line 3 has a quote inside a field");
    expect(run.canStart).toBe(true);
  });

  test("of a file without rows is an error", async () => {
    const run = await chooseFile("rows.json", "[]");
    expect(run.state).toBe("failed");
    expect(String(run.error)).toBe("Error: The file has no rows.");
    expect(run.canStart).toBe(false);
  });
});

describe("an import of 1,500 rows", () => {
  const rows = Array.from({ length: 1500 }, (_, id) => `${id},"two\nlines"`);

  /** Imports the rows with a service that answers each request, which are numbered from 1, with this. */
  async function importRows(answer: (request: number, lines: string[]) => LineOutcome[], content = rows) {
    let requests = 0;
    const { run, sent } = await importWith("rows.csv", `id,name\n${content.join("\n")}`, (lines) => {
      requests++;
      return answer(requests, lines);
    });
    // The first request has no rows: it only names the file.
    const [, ...parts] = sent.map(({ lines }) => lines.length);
    expect(run.state).toBe("done");
    expect(run.share).toBe(1);
    return { report: run.report, parts };
  }

  test("sends them in parts", async () => {
    const { report, parts } = await importRows((_, lines) => createAll(lines));
    expect(report.created).toBe(1500);
    expect(parts).toEqual([1000, 500]);
  });

  test("sends a part again after a temporary error, and what a short response left of it", async () => {
    const { report, parts } = await importRows((request, lines) => {
      if (request === 2) throw temporary;
      return createAll(request === 3 ? lines.slice(0, 400) : lines);
    });
    expect(report.created).toBe(1500);
    expect(parts).toEqual([1000, 1000, 600, 500]);
  });

  test("counts a row that is no plant as part of those sent together", async () => {
    const { report, parts } = await importRows((_, lines) => createAll(lines), rows.with(1, "no name"));
    expect(report.created).toBe(1499);
    expect(report.refused).toBe(1);
    expect(parts).toEqual([999, 500]);
  });
});

test("the file is named for the audit trail in a request of its own, which is sent once", async () => {
  let requests = 0;
  const { sent } = await importWith("rows.csv", "id,name\n1,a\n", (lines) => {
    requests++;
    if (requests === 2) throw temporary;
    return createAll(lines);
  });
  expect(sent).toEqual([
    { path: "/api/imports?file=rows.csv", lines: [] },
    { path: "/api/imports", lines: ['{"id":1,"name":"a"}'] },
    { path: "/api/imports", lines: ['{"id":1,"name":"a"}'] },
  ]);
});

describe("refused rows", () => {
  test("that cannot be sent are reported with their line, in one group for each reason", async () => {
    const rows = '1,"two\nlines"\n1\n1,a,b\n1E+15,a\n"9,007E+15",b\n';
    const { run, sent } = await importWith("rows.csv", `id,name\n${rows}`, createAll);
    expect(sent.flatMap(({ lines }) => lines)).toHaveLength(1);
    expect(run.report.groups).toMatchObject([
      {
        error: undefined,
        reason: "The row does not have as many fields as the header.",
        count: 2,
        listed: [{ position: 4, message: "The row has 1 field, but the header has 2." }, { position: 5 }],
      },
      {
        error: undefined,
        reason:
          "The id is in exponent form, as spreadsheets save long numbers, and may have lost digits: format the column as text and export it again.",
        count: 2,
      },
    ]);
  });

  test("of a large group are all counted, and listed up to the hundredth", async () => {
    const rows = Array.from({ length: 1200 }, (_, row) => `{"name":"${row}"}`);
    const refusal: LineOutcome = { error: 40010, message: "No id.", reason: "No id." };
    const { run } = await importWith("rows.ndjson", rows.join("\n"), (lines) => lines.map(() => refusal));
    const [group] = run.report.groups;
    expect(group?.count).toBe(1200);
    expect(group?.listed).toHaveLength(100);
    expect(group?.listed[99]?.position).toBe(100);
  });

  test("of a JSON array are sent as one line, and offered as an array of what they were", async () => {
    const array = '[{"id":81,\n"name":"One"},\n {"name":\n"No id"},\n 2]';
    const refusal: LineOutcome = { error: 40010, message: "No id.", reason: "No id." };
    const { run, sent } = await importWith("plants.json", array, (lines) =>
      lines.map((line) => (line.includes("81") ? "created" : refusal)),
    );
    expect(sent[1]?.lines).toEqual(['{"id":81, "name":"One"}', '{"name": "No id"}', "2"]);
    const { name, blob } = run.report.refusedFile(run.header);
    expect(name).toBe("plants-refused.json");
    expect(await blob.text()).toBe('[\n{"name":\n"No id"},\n2\n]\n');
  });
});

describe("the end of an import", () => {
  test("is reported again after a temporary error", async () => {
    let attempts = 0;
    const { run, finished } = await importWith("plants.json", "[1]", createAll, () => {
      attempts++;
      if (attempts === 1) throw new ApiError("This token has reached its limit.", 42901);
    });
    expect(run.state).toBe("done");
    expect(finished).toHaveLength(2);
  });

  test("that cannot be recorded is one all the same", async () => {
    const { run } = await importWith("plants.json", "[1]", createAll, failWith(final));
    expect(run.state).toBe("done");
    expect(run.report.created).toBe(1);
  });

  test("of a file that is broken is reported, and is final", async () => {
    const { run, finished } = await importWith("plants.json", "[1, 2", createAll);
    expect(run.state).toBe("failed");
    expect(run.canStart).toBe(false);
    expect(finished).toMatchObject([{ end: "failed", created: 1 }]);
  });

  test("is not reported if nothing was sent", async () => {
    const failed = await importWith("plants.json", "[1]", failWith(final));
    expect(failed.run.state).toBe("failed");
    expect(failed.run.canStart).toBe(true);
    expect(failed.sent).toHaveLength(1);
    expect(failed.finished).toEqual([]);
  });
});

test("a file that has changed since it was chosen has to be chosen again", async () => {
  const file = new File(["{}"], "edited.json");
  file.slice = () => fake<Blob>({ arrayBuffer: () => Promise.reject(new Error("unreadable")) });
  const run = new ImportRun(file, unansweredApi, 1000);
  await eventually(() => run.state === "failed");
  expect(String(run.error)).toBe(
    "Error: edited.json was changed or removed after you chose it. Choose it again.",
  );
  expect(run.canStart).toBe(false);
});

test("an import calls back while it is sent, since the time left changes, and when it stops or continues", async () => {
  const run = await chooseFile("rows.ndjson", "{}");
  const states: string[] = [];
  run.subscribe(() => states.push(run.state));
  run.start();
  await eventually(() => states.length > 2);
  expect(new Set(states)).toEqual(new Set(["running"]));
  run.stop();
  await eventually(() => states.at(-1) === "stopped");
  run.start();
  expect(states.at(-1)).toBe("running");
  run.close();
});

test("the session's import is of one file, and ends with the session", async () => {
  const imports = new TabImport(unansweredApi);
  imports.choose(new File(["{}"], "first.ndjson"), 1000);
  const first = imports.run;
  await eventually(() => first?.state === "ready");
  first?.start();
  expect(imports.isSending).toBe(true);
  imports.choose(new File(["{}"], "second.ndjson"), 1000);
  await eventually(() => first?.state === "stopped");
  expect(imports.run?.file.name).toBe("second.ndjson");
  imports.forget();
  expect(imports.run).toBeUndefined();
});
