import type { Bytes } from "../../files/bytes.ts";
import { describeSource, openSource } from "../../files/detect-source.ts";
import type { InputRow, RowReader } from "../../files/input-row.ts";
import { detectFormat, type FileFormat, readRows, rowReaderFor } from "../../files/read-rows.ts";

/** A file of plants that the user chose. */
export interface PlantFile {
  readonly format: FileFormat;
  /** The reader of the rows, which has the header of a CSV file. */
  readonly reader: RowReader;
  readonly rows: AsyncGenerator<InputRow, void, void>;
  /** What the file was detected as; once a row has been read, with what separates its columns. */
  describe(): string;
}

// How much is read at a time, so that the page never freezes.
const chunkBytes = 64 * 1024;

/**
 * Opens a file in the format that its name and first bytes suggest. `onRead` is called with how many of its bytes have been read.
 * @throws Problem; so may the rows.
 */
export async function openPlantFile(
  file: File,
  rowBytesMax: number,
  onRead: (bytes: number) => void = () => {},
): Promise<PlantFile> {
  const { isGzip, opening, chunks } = await openSource(readChunks(file, onRead));
  const format = detectFormat(file.name, opening);
  const reader = rowReaderFor(format, rowBytesMax);
  return {
    format,
    reader,
    rows: readRows(chunks, reader),
    describe: () => describeSource(format, isGzip, reader.separator),
  };
}

async function* readChunks(file: File, onRead: (bytes: number) => void): AsyncGenerator<Bytes, void, void> {
  for (let at = 0; at < file.size; at += chunkBytes) {
    const bytes = await file
      .slice(at, at + chunkBytes)
      .arrayBuffer()
      .catch(() => {
        // The browser allows it only while the file is unchanged.
        throw new Error(`${file.name} was changed or removed after you chose it. Choose it again.`);
      });
    onRead(Math.min(at + chunkBytes, file.size));
    yield new Uint8Array(bytes);
  }
}
