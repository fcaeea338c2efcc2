import { describe, expect, test } from "bun:test";
import { eventually } from "../../../test/support/eventually.ts";
import { unansweredApi } from "../../../test/support/import-with.ts";
import { TabImports } from "./tab-imports.ts";

const file = new File(['{"id": 1, "name": "Oak"}'], "plants.ndjson");
const rowBytesMax = 1000;

test("an import ends the check of its file, and only that is asked about before someone leaves", async () => {
  const imports = new TabImports();
  imports.startCheck(file, rowBytesMax);
  const { check } = imports;
  expect(check?.state).toBe("running");
  expect(imports.isImporting).toBe(false);
  imports.startImport(file, unansweredApi, rowBytesMax);
  expect(imports.isImporting).toBe(true);
  expect(imports.check).toBeUndefined();
  await eventually(() => check?.state === "stopped");
  imports.stop();
});

describe("the next session", () => {
  test("has an import that was running, to be resumed, and nothing of a check", async () => {
    const imports = new TabImports();
    imports.startImport(file, unansweredApi, rowBytesMax);
    imports.startCheck(file, rowBytesMax);
    imports.forget();
    imports.stop();
    expect(imports.check).toBeUndefined();
    await eventually(() => imports.last?.canResume === true);
  });

  test("has nothing of an import that was stopped before", async () => {
    const imports = new TabImports();
    imports.startImport(file, unansweredApi, rowBytesMax);
    imports.stop();
    await eventually(() => !imports.isImporting);
    imports.forget();
    expect(imports.last).toBeUndefined();
  });
});

test("the end of a run is a change of the tab's imports", async () => {
  const imports = new TabImports();
  imports.startCheck(file, rowBytesMax);
  const states: (string | undefined)[] = [];
  imports.subscribe(() => states.push(imports.check?.state));
  await eventually(() => states.includes("done"));
});
