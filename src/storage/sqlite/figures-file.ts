import { readFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { realDataFile } from "./data-file-path.ts";
import { fileMode } from "./durable-files.ts";

/** Counts of the service next to its data file, such as of refusals. They are not worth an fsync, or a failure. */
export function figuresFile(database: string) {
  const path = `${realDataFile(database)}.figures.json`;
  return {
    read(): string | undefined {
      try {
        return readFileSync(path, "utf8");
      } catch {
        // There is none yet, or it cannot be read.
        return undefined;
      }
    },
    async write(text: string): Promise<void> {
      const unfinished = `${path}.new`;
      try {
        await rm(unfinished, { force: true });
        await writeFile(unfinished, text, { mode: fileMode, flag: "wx" });
        await rename(unfinished, path);
      } catch {
        // For example on a full disk; it is retried in a minute.
      }
    },
  };
}
