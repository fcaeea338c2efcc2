import { describe, expect, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { fake } from "../../../test/support/fake.ts";
import { createAll, importWith, unansweredApi } from "../../../test/support/import-with.ts";
import type { LineOutcome } from "../../operator/responses.ts";
import { ApiError, type OperatorApi } from "../api.ts";
import { ImportRun } from "./import-run.ts";

const temporary = new ApiError("The service is shutting down.", 50303);
const final = new ApiError("The token lacks the scope plants:create.", 40301);
const failWith = (error: ApiError) => (): never => {
  throw error;
};

describe("a check", () => {
  async function check(name: string, content: string): Promise<ImportRun> {
    const run = new ImportRun(new File([content], name), undefined, 1000);
    await eventually(() => run.state !== "running");
    return run;
  }

  test("reports every row, without a number if it could not be sent", async () => {
    const { report } = await check("rows.csv", "id,name\n1,a\n2\n");
    expect(report.valid).toBe(1);
    expect(report.groups).toMatchObject([{ error: undefined, count: 1 }]);
    expect(await report.reportFile().blob.text()).toBe(
      'line,result,error,message\r\n2,valid,,\r\n3,refused,,"The row has 1 field, but the header has 2."\r\n',
    );
  });

  test("reports no message that a spreadsheet could read as a formula", async () => {
    const { report } = await check("rows.ndjson", '{"id":";=1+1","name":"a"}\n');
    expect(await report.reportFile().blob.text()).toContain('the string "";\'=1+1""');
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
  test("reports what it counted", async () => {
    const outcomes: LineOutcome[] = [
      "created",
      "created",
      "replayed",
      { error: 40020, message: "conflict", reason: "conflict" },
    ];
    const rows = "id,name\n1,a\n2,b\n3,c\n4,d\nno name\n";
    const { finished } = await importWith("rows.csv", rows, (lines) => outcomes.slice(0, lines.length));
    const path = "/api/imports/finished";
    expect(finished).toEqual([{ path, file: "rows.csv", created: 2, replayed: 1, refused: 2 }]);
  });

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

  test("is not reported if there is none, and an error that ended it leaves it to be resumed", async () => {
    const failed = await importWith("plants.json", "[1]", failWith(final));
    expect(failed.run.state).toBe("failed");
    expect(failed.run.canResume).toBe(true);
    expect(failed.sent).toHaveLength(1);
    const broken = await importWith("plants.json", "[1, 2", createAll);
    const empty = await importWith("plants.json", "[]", createAll);
    expect([failed, broken, empty].flatMap(({ finished }) => finished)).toEqual([]);
  });
});

test("a file that has changed since it was chosen has to be chosen again", async () => {
  const file = new File(["{}"], "edited.json");
  file.slice = () => fake<Blob>({ arrayBuffer: () => Promise.reject(new Error("unreadable")) });
  const run = new ImportRun(file, fake<OperatorApi>({}), 1000);
  await eventually(() => run.state !== "running");
  expect(String(run.error)).toBe(
    "Error: edited.json was changed or removed after you chose it. Choose it again.",
  );
  expect(run.canResume).toBe(false);
});

test("an import calls back while it is sent, since the time left changes, and when it stops or resumes", async () => {
  const run = new ImportRun(new File(["{}"], "rows.ndjson"), unansweredApi, 1000);
  const states: string[] = [];
  run.subscribe(() => states.push(run.state));
  await eventually(() => states.length > 1);
  expect(new Set(states)).toEqual(new Set(["running"]));
  run.stop();
  await eventually(() => states.at(-1) === "stopped");
  run.resume(unansweredApi);
  expect(states.at(-1)).toBe("running");
  run.stop();
});
