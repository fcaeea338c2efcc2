import { afterEach, beforeEach } from "bun:test";
import { join } from "node:path";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

/**
 * Creates a new folder before each test of the file, and removes it after that test. For files whose tests all need a data file
 * that they may damage; `dataFile` is its path, where nothing is yet.
 */
export function useFolderForEachTest(): { readonly path: string; readonly dataFile: string } {
  let folder: TemporaryFolder;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder[Symbol.dispose]());
  return {
    get path() {
      return folder.path;
    },
    get dataFile() {
      return join(folder.path, "plants.db");
    },
  };
}
