import { describe, expect, test } from "bun:test";
import { hourMs } from "../../text/duration.ts";
import { type FilePreview, readPreview } from "./file-preview.ts";

describe("the preview of a file", () => {
  /** The last that was reported of it. */
  async function previewOf(name: string, content: string, countMsMax?: number): Promise<FilePreview> {
    const reported: FilePreview[] = [];
    const signal = new AbortController().signal;
    const onRead = (preview: FilePreview) => void reported.push(preview);
    await readPreview(new File([content], name), 1000, { signal, onRead }, countMsMax);
    const last = reported.at(-1);
    if (last === undefined) throw new Error("nothing was reported");
    return last;
  }
  const manyRows = `id,name\n${"1,a\n".repeat(50_000)}`;

  // No machine is too slow for this limit.
  const unlimitedMs = hourMs;

  test("has the first three rows", async () => {
    const { source, firstRows } = await previewOf("rows.csv", manyRows, unlimitedMs);
    expect(source).toBe("CSV");
    expect(firstRows.map(({ line }) => line)).toEqual([2, 3, 4]);
  });

  test("counts all rows", async () => {
    const { rowCount } = await previewOf("rows.csv", manyRows, unlimitedMs);
    expect(rowCount).toBe(50_000);
  });

  test("has the first rows alone if counting takes too long", async () => {
    const { firstRows, rowCount, error } = await previewOf("rows.csv", manyRows, 0);
    expect(firstRows).toHaveLength(3);
    expect(rowCount).toBeUndefined();
    expect(error).toBeUndefined();
  });

  const broken = 'id,name\n1,a\n2,5" pot\n';

  test("has the rows before the one at which a file is broken", async () => {
    const { firstRows, rowCount } = await previewOf("rows.csv", broken);
    expect(firstRows).toHaveLength(1);
    expect(rowCount).toBeUndefined();
  });

  test("says where a file is broken", async () => {
    const { error } = await previewOf("rows.csv", broken);
    expect(String(error)).toContain("The row that starts on line 3 has a quote inside a field");
  });

  test("of a file without rows says so", async () => {
    expect(await previewOf("rows.json", "[]")).toMatchObject({ source: "JSON", firstRows: [], rowCount: 0 });
  });

  test("is not reported once the file is no longer chosen", async () => {
    const onRead = (): void => expect.unreachable();
    await readPreview(new File([manyRows], "rows.csv"), 1000, { signal: AbortSignal.abort(), onRead });
  });
});
