import type { InputRow } from "../../files/input-row.ts";
import { openPlantFile } from "./plant-file.ts";

/** What is known of a file before any of it is sent. */
export interface FilePreview {
  /** What it was detected as; undefined if it cannot be read at all. */
  readonly source: string | undefined;
  readonly firstRows: readonly InputRow[];
  /** Undefined while they are counted, and if that takes too long. */
  readonly rowCount: number | undefined;
  /** Why the file cannot be read to its end, if that has been found out. */
  readonly error: unknown;
}

const rowsPreviewed = 3;
const countMsDefault = 1000;
// The clock is read once per this many rows, so that a short file is counted even if opening it takes a second.
const rowsBetweenLooks = 1000;

/** Reads the first rows of a file, and then counts all of them for a limited time. Calls `onRead` each time more is known. */
export async function readPreview(
  file: File,
  rowBytesMax: number,
  { signal, onRead }: { readonly signal: AbortSignal; readonly onRead: (preview: FilePreview) => void },
  countMsMax = countMsDefault,
): Promise<void> {
  const deadlineMs = performance.now() + countMsMax;
  const firstRows: InputRow[] = [];
  let source: string | undefined;
  let rows = 0;
  const report = (rowCount?: number, error?: unknown): void => {
    if (!signal.aborted) onRead({ source, firstRows, rowCount, error });
  };
  try {
    const opened = await openPlantFile(file, rowBytesMax);
    source = opened.describe();
    for await (const row of opened.rows) {
      rows++;
      if (rows <= rowsPreviewed) {
        firstRows.push(row);
        // The separator of CSV is known once its header has been read.
        source = opened.describe();
      }
      if (rows === rowsPreviewed) report();
      if (signal.aborted || (rows % rowsBetweenLooks === 0 && performance.now() > deadlineMs)) return;
    }
    report(rows);
  } catch (error) {
    report(undefined, error);
  }
}
