import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { DataFileProblem } from "../data-file-problem.ts";
import { createEmpty, makeDirectory, syncDirectory, syncFile } from "../durable-files.ts";
import { writeMarker } from "../failure-marker.ts";
import { checkDatabase } from "./copy-and-check.ts";

/** Saves under a new name what only the open connections can still read, and returns that name once it is on disk. */
export async function saveCopy(path: string, copyTo: (to: string) => Promise<void>): Promise<string> {
  const to = `${path}.saved-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
  // The folder may have been deleted too.
  const folders = [dirname(path), ...makeDirectory(dirname(path))];
  try {
    createEmpty(to);
    await copyTo(to);
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  }
  const [problem] = await checkDatabase(to);
  if (problem !== undefined) throw new DataFileProblem(`The copy ${to} is not sound: ${problem}.`);
  syncFile(to);
  for (const folder of folders) syncDirectory(folder);
  writeMarker(path, { reason: "replaced", copy: to });
  return to;
}
