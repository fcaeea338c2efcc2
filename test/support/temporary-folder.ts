import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryFolder extends Disposable {
  readonly path: string;
  /** A path in the folder that no other call returned: nothing is there yet. It ends in the name. */
  newPath(name?: string): string;
}

export function temporaryFolder(parent = tmpdir()): TemporaryFolder {
  const path = mkdtempSync(join(parent, "plant-store-"));
  let newPaths = 0;
  return {
    path,
    newPath(name = "plants.db") {
      newPaths++;
      return join(path, `${newPaths}-${name}`);
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
