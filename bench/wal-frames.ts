/** The pages in a WAL, by what SQLite uses them for. */
export interface WalFrames {
  readonly frames: number;
  readonly bytes: number;
  /** What checkpoints write to the data file: of each page, the last version since the previous checkpoint. */
  readonly checkpointedPages: number;
  readonly tableLeaves: number;
  readonly indexLeaves: number;
}

// https://sqlite.org/fileformat2.html: the header of the file, of a frame, and the first byte of a page of a b-tree.
const fileHeaderBytes = 32;
const frameHeaderBytes = 24;
const pageSizeAt = 8;
const indexLeaf = 0x0a;
const tableLeaf = 0x0d;

/** Counts the frames of a WAL that has not restarted, as if it had been checkpointed whenever it had that many. */
export function countFrames(wal: Buffer, framesPerCheckpoint: number): WalFrames {
  const pageBytes = wal.readUInt32BE(pageSizeAt);
  const pages = new Set<number>();
  let [frames, tableLeaves, indexLeaves, checkpointedPages] = [0, 0, 0, 0];
  const frameBytes = frameHeaderBytes + pageBytes;
  for (let at = fileHeaderBytes; at + frameBytes <= wal.length; at += frameBytes) {
    if (frames++ % framesPerCheckpoint === 0) {
      checkpointedPages += pages.size;
      pages.clear();
    }
    pages.add(wal.readUInt32BE(at));
    const kind = wal[at + frameHeaderBytes];
    if (kind === tableLeaf) tableLeaves++;
    else if (kind === indexLeaf) indexLeaves++;
  }
  checkpointedPages += pages.size;
  return { frames, bytes: frames * frameBytes, checkpointedPages, tableLeaves, indexLeaves };
}

/** How many of that many leaves a batch of random ids is expected to change, per plant. */
export function expectedLeaves(leaves: number, batch: number): number {
  return (leaves * (1 - (1 - 1 / leaves) ** batch)) / batch;
}
