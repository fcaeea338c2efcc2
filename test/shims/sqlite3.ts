// Stands in for `sqlite3 -readonly FILE SQL` on a machine without it: one column, each value on a line of its own.
import { Database } from "bun:sqlite";

const [, file = "", sql = ""] = process.argv.slice(2);
using database = new Database(file, { readonly: true, safeIntegers: true });
for (const [value] of database.query(sql).values()) process.stdout.write(`${value}\n`);
