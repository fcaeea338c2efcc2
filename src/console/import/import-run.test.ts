import { describe, expect, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { fake } from "../../../test/support/fake.ts";
import { createAll, importWith, unansweredApi } from "../../../test/support/import-with.ts";
import type { LineOutcome } from "../../operator/responses.ts";
import { ApiError, type OperatorApi } from "../api.ts";
import { ImportRun } from "./import-run.ts";

describe("a check", () => {
  async function check(name: string, content: string): Promise<ImportRun> {
    const run = new ImportRun(new File([content], name), undefined, 1000);
    await eventually(() => run.state !== "running");
    return run;
  }

  test("of a row that could not be sent has no error number", async () => {
    const { report } = await check("rows.csv", "id,name\n1,a\n2\n");
    expect(report.valid).toBe(1);
    expect(report.groups).toMatchObject([{ error: undefined, count: 1 }]);
  });

  test("reports every row", async () => {
    const { report } = await check("rows.csv", "id,name\n1,a\n2\n");
    const text = await report.reportFile().blob.text();
    expect(text.split("\r\n")).toEqual([
      "line,result,error,message",
      "2,valid,,",
      '3,refused,,"The row has 1 field, but the header has 2."',
      "",
    ]);
  });

  test("reports no message that a spreadsheet could read as a formula", async () => {
    const { report } = await check("rows.ndjson", '{"id":";=1+1","name":"a"}\n');
    const text = await report.reportFile().blob.text();
    expect(text).toContain('the string "";\'=1+1""');
  });

  test("ends where the file is broken", async () => {
    const run = await check("rows.csv", 'id,name\n1,a\n2,5" pot\n');
    expect(run.state).toBe("failed");
    expect(run.report.valid).toBe(1);
    expect(run.canResume).toBe(false);
  });

  test("calls back when it has ended", async () => {
    const run = new ImportRun(new File(["{}"], "rows.ndjson"), undefined, 1000);
    const states: string[] = [];
    run.subscribe(() => states.push(run.state));
    await eventually(() => states.length > 0);
    expect(states).toEqual(["done"]);
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
    return { run, parts };
  }

  test("sends them in parts", async () => {
    const { run, parts } = await importRows((_, lines) => createAll(lines));
    expect(run.state).toBe("done");
    expect(run.report.created).toBe(1500);
    expect(run.share).toBe(1);
    expect(parts).toEqual([1000, 500]);
  });

  test("sends a part again after a temporary error", async () => {
    const { run, parts } = await importRows((request, lines) => {
      if (request === 2) throw new ApiError("The service is shutting down.", 50303);
      return createAll(lines);
    });
    expect(run.report.created).toBe(1500);
    expect(parts).toEqual([1000, 1000, 500]);
  });

  test("sends again what a short response left of a part", async () => {
    const { run, parts } = await importRows((request, lines) =>
      createAll(request === 2 ? lines.slice(0, 400) : lines),
    );
    expect(run.report.created).toBe(1500);
    expect(parts).toEqual([1000, 600, 500]);
  });

  test("counts a row that is no plant as part of those sent together", async () => {
    const { run, parts } = await importRows((_, lines) => createAll(lines), rows.with(1, "no name"));
    expect(run.report.created).toBe(1499);
    expect(run.report.refused).toBe(1);
    expect(run.share).toBe(1);
    expect(parts).toEqual([999, 500]);
  });
});

test("the file is named for the audit trail in a request of its own, which is sent once", async () => {
  let requests = 0;
  const { sent } = await importWith("rows.csv", "id,name\n1,a\n", (lines) => {
    requests++;
    if (requests === 2) throw new ApiError("The service is shutting down.", 50303);
    return createAll(lines);
  });
  expect(sent).toEqual([
    { path: "/api/imports?file=rows.csv", lines: [] },
    { path: "/api/imports", lines: ['{"id":1,"name":"a"}'] },
    { path: "/api/imports", lines: ['{"id":1,"name":"a"}'] },
  ]);
});

test("a row that is no plant is reported with its line instead of being sent", async () => {
  const { run, sent } = await importWith("rows.csv", 'id,name\n1,"two\nlines"\nno name\n', createAll);
  expect(sent.flatMap(({ lines }) => lines)).toHaveLength(1);
  expect(run.report.refused).toBe(1);
  expect(run.report.groups).toMatchObject([
    { error: undefined, listed: [{ position: 4, message: "The row has 1 field, but the header has 2." }] },
  ]);
});

describe("refused rows", () => {
  test.each([
    ["The row does not have as many fields as the header.", "1\n1,a,b\n"],
    [
      "The id is in exponent form, as spreadsheets save long numbers, and may have lost digits: format the column as text and export it again.",
      '1E+15,a\n"9,007E+15",b\n',
    ],
  ])("of CSV that cannot be sent are one group: %s", async (reason, rows) => {
    const { run } = await importWith("rows.csv", `id,name\n${rows}`, createAll);
    expect(run.report.groups).toMatchObject([{ error: undefined, reason, count: 2 }]);
  });

  describe("of a large group", () => {
    async function refuseMany() {
      const rows = Array.from({ length: 1200 }, (_, row) => `{"name":"${row}"}`);
      const refusal: LineOutcome = { error: 40010, message: "No id.", reason: "No id." };
      const { run } = await importWith("rows.ndjson", rows.join("\n"), (lines) => lines.map(() => refusal));
      return run.report.groups[0];
    }

    test("are all counted", async () => {
      expect((await refuseMany())?.count).toBe(1200);
    });

    test("are listed up to the hundredth", async () => {
      const group = await refuseMany();
      expect(group?.listed).toHaveLength(100);
      expect(group?.listed[99]?.position).toBe(100);
    });
  });
});

test("an import that has ended reports what it counted", async () => {
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

test("an import reports its end again after a temporary error", async () => {
  let attempts = 0;
  const { run, finished } = await importWith("plants.json", "[1]", createAll, () => {
    attempts++;
    if (attempts === 1) throw new ApiError("This token has reached its limit.", 42901);
  });
  expect(run.state).toBe("done");
  expect(finished).toHaveLength(2);
});

test("an import whose end cannot be recorded is done all the same", async () => {
  const { run } = await importWith("plants.json", "[1]", createAll, () => {
    throw new ApiError("The token lacks the scope plants:create.", 40301);
  });
  expect(run.state).toBe("done");
  expect(run.report.created).toBe(1);
});

test.each([
  [
    "fails",
    "[1]",
    () => {
      throw new ApiError("The token lacks the scope plants:create.", 40301);
    },
  ],
  ["cannot be read to its end", "[1, 2", createAll],
  ["has no rows", "[]", () => []],
])("a file that %s reports no end", async (_, content, service) => {
  const { finished } = await importWith("plants.json", content, service);
  expect(finished).toEqual([]);
});

test("an element of an array is sent as one line", async () => {
  const { sent } = await importWith("plants.json", '[{"id":1,\n"name":"a"},\n2]', (lines) =>
    lines.map(() => "created"),
  );
  expect(sent.map(({ lines }) => lines)).toEqual([[], ['{"id":1, "name":"a"}', "2"]]);
});

test("an import that an error ended can be resumed", async () => {
  const { run, sent } = await importWith("plants.json", "[1]", () => {
    throw new ApiError("The token lacks the scope plants:create.", 40301);
  });
  expect(run.state).toBe("failed");
  expect(run.canResume).toBe(true);
  expect(sent).toHaveLength(1);
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

describe("an import that is being sent calls back", () => {
  test("again and again, since the time left changes", async () => {
    const run = new ImportRun(new File(["{}"], "rows.ndjson"), unansweredApi, 1000);
    let calls = 0;
    run.subscribe(() => calls++);
    await eventually(() => calls > 1);
    expect(run.state).toBe("running");
    run.stop();
  });

  test("when it is stopped", async () => {
    const run = new ImportRun(new File(["{}"], "rows.ndjson"), unansweredApi, 1000);
    const states: string[] = [];
    run.subscribe(() => states.push(run.state));
    run.stop();
    await eventually(() => states.at(-1) === "stopped");
  });

  test("when it is resumed", async () => {
    const run = new ImportRun(new File(["{}"], "rows.ndjson"), unansweredApi, 1000);
    run.stop();
    await eventually(() => run.state === "stopped");
    const states: string[] = [];
    run.subscribe(() => states.push(run.state));
    run.resume(unansweredApi);
    expect(states.at(-1)).toBe("running");
    run.stop();
  });
});
