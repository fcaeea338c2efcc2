import { existsSync, renameSync, rmSync } from "node:fs";

/** A WAL left behind by another data file would be taken for the next one's. It may hold plants, so it is renamed, not deleted. */
export function setWalAside(path: string): void {
  rmSync(`${path}-shm`, { force: true });
  if (!existsSync(`${path}-wal`)) return;
  let to = `${path}-wal.left-behind`;
  for (let number = 2; existsSync(to); number++) to = `${path}-wal.left-behind-${number}`;
  renameSync(`${path}-wal`, to);
}
