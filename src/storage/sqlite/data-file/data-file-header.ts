// The header of a data file, from its bytes alone: https://www.sqlite.org/fileformat2.html#the_database_header

export const dataHeaderBytes = 100;
/** The bytes that say what file this is: they are as they were for as long as it is open. */
export const identityBytes = 20;

const magic = Buffer.from("SQLite format 3\0");

/** How a database is written: with a rollback journal, as VACUUM makes one, or through a WAL. Undefined if it is none. */
export function writeMode(header: Buffer): "journal" | "wal" | undefined {
  if (!header.subarray(0, magic.length).equals(magic)) return undefined;
  const versions = header.readUInt16BE(18);
  if (versions === 0x0101) return "journal";
  return versions === 0x0202 ? "wal" : undefined;
}

/** Whether a data file has as many pages as its header says. */
export function isWhole(header: Buffer, bytes: number): boolean {
  return bytes === header.readUInt32BE(28) * pageBytes(header);
}

/** SQLite's file change counter, which never decreases in one file. */
export function changeCounter(header: Buffer): number {
  return header.readUInt32BE(24);
}

/** The size of a page, which SQLite stores in two bytes: 1 stands for 65,536. */
export function pageBytes(header: Buffer): number {
  const stored = header.readUInt16BE(16);
  return stored === 1 ? 65_536 : stored;
}
