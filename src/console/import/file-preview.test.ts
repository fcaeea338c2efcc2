import { expect, test } from "bun:test";
import { hourMs } from "../../text/duration.ts";
import { type FilePreview, readPreview } from "./file-preview.ts";

// No machine is too slow for this limit.
const unlimitedMs = hourMs;

/** The last that was reported of the preview of a file. */
async function previewOf(
  name: string,
  content: string,
  countMsMax?: number,
): Promise<FilePreview | undefined> {
  const reported: FilePreview[] = [];
  const { signal } = new AbortController();
  const onRead = (preview: FilePreview) => void reported.push(preview);
  await readPreview(new File([content], name), 1000, { signal, onRead }, countMsMax);
  return reported.at(-1);
}

test("a preview has the first three rows of a file, and the number of all", async () => {
  const manyRows = `id,name\n${"1,a\n".repeat(1000)}`;
  const preview = await previewOf("rows.csv", manyRows, unlimitedMs);
  expect(preview).toMatchObject({ source: "CSV", firstRows: [{ line: 2 }, { line: 3 }, { line: 4 }] });
  expect(preview?.firstRows).toHaveLength(3);
  expect(preview?.rowCount).toBe(1000);
});

test("a preview has the first rows alone if counting takes too long", async () => {
  const preview = await previewOf("rows.csv", `id,name\n${"1,a\n".repeat(50_000)}`, 0);
  expect(preview?.firstRows).toHaveLength(3);
  expect(preview?.rowCount).toBeUndefined();
  expect(preview?.error).toBeUndefined();
});

test("a preview of a file that is broken says where, and has the rows before", async () => {
  const preview = await previewOf("rows.csv", 'id,name\n1,a\n2,5" pot\n');
  expect(preview?.firstRows).toHaveLength(1);
  expect(preview?.rowCount).toBeUndefined();
  expect(String(preview?.error)).toContain("The row that starts on line 3 has a quote inside a field");
});

test("a preview of a file without rows says so", async () => {
  expect(await previewOf("rows.json", "[]")).toMatchObject({ source: "JSON", firstRows: [], rowCount: 0 });
});

test("a preview is not reported once the file is no longer chosen", async () => {
  const onRead = (): void => expect.unreachable();
  await readPreview(new File(["id,name\n1,a\n"], "rows.csv"), 1000, { signal: AbortSignal.abort(), onRead });
});
