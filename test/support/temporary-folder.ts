import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryFolder extends Disposable {
  readonly path: string;
  /** A path in the folder that no other call returned: nothing is there yet. It ends in the name. */
  newPath(name?: string): string;
  /** The path of a new, empty folder in it. */
  newFolder(): string;
  /** The path of a new copy of that file in it. */
  newCopy(file: string): string;
}

export function temporaryFolder(parent = tmpdir()): TemporaryFolder {
  const path = mkdtempSync(join(parent, "plant-store-"));
  let newPaths = 0;
  const newPath = (name = "plants.db") => {
    newPaths++;
    return join(path, `${newPaths}-${name}`);
  };
  return {
    path,
    newPath,
    newFolder() {
      const created = newPath("folder");
      mkdirSync(created);
      return created;
    },
    newCopy(file) {
      const copy = newPath();
      copyFileSync(file, copy);
      return copy;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
