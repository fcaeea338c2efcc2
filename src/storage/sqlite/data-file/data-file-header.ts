// The header of a data file, from its bytes alone: https://www.sqlite.org/fileformat2.html#the_database_header

export const dataHeaderBytes = 100;

/** How every data file of SQLite begins. */
export const sqliteMagic = Buffer.from("SQLite format 3\0");

export function hasMagic(header: Buffer): boolean {
  return header.subarray(0, sqliteMagic.length).equals(sqliteMagic);
}

/** Whether a data file has as many pages as its header says. */
export function isWhole(header: Buffer, bytes: number): boolean {
  return bytes === header.readUInt32BE(28) * pageBytes(header.readUInt16BE(16));
}

/** SQLite's file change counter, which never decreases in one file. */
export function changeCounter(header: Buffer): number {
  return header.readUInt32BE(24);
}

/** The size of a page, which SQLite stores in two bytes: 1 stands for 65,536. */
export function pageBytes(stored: number): number {
  return stored === 1 ? 65_536 : stored;
}
