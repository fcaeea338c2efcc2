import { expecting } from "../text/parsers.ts";
import { shellQuoted } from "../text/shell.ts";

export const databaseDefault = "data/plant-store.db";

// As a path, a mistyped URL would start an empty store, with the password in its name.
const resemblesUrl = /^\s*(?:[a-z][a-z0-9+.-]+:\/\/|postgres(?:ql)?(?::|\/\/))/i;

/** Whether --database names a PostgreSQL database; otherwise it is the path of a data file. */
export function isDatabaseUrl(database: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(database);
}

export const parseDatabase = expecting(
  "must be a path or a URL of PostgreSQL, such as data/plant-store.db or postgres://host/database",
  (text) => (text !== "" && (isDatabaseUrl(text) || !resemblesUrl.test(text)) ? text : undefined),
);

/** A database URL without its password, however it is written, even if the URL is not valid. */
export function withoutPassword(database: string): string {
  // Up to the last @, since a password may contain one; up to the last %40 if there is none.
  const end = database.includes("@") ? "@" : "%40";
  const login = new RegExp(`^(\\s*(?:(?:\\w+:)+/*|\\w+//)[^:@/?]*?)(:|%3a).*${end}`, "is");
  return database
    .replace(login, `$1$2***${end}`)
    .replace(
      /([?&#\s]|^)([^?&#\s=]+)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s]*)/g,
      (option, before, name, equals) => (isPassword(name) ? `${before}${name}${equals}***` : option),
    );
}

/**
 * What names this database to a command that someone pastes into a shell, with a space before it, and without a password. Empty
 * for a file in the current folder, which every command there uses by itself.
 */
export function databaseFlag(database: string): string {
  if (database === databaseDefault) return "";
  const named = withoutPassword(database)
    .replace(/(?::|%3a)\*\*\*(@|%40)/i, "$1")
    .replaceAll(/([?&])[^?&=]+=\*\*\*&?/g, "$1")
    .replace(/[?&]$/, "");
  return ` --database ${shellQuoted(named)}`;
}

/** Whether it is a password, as libpq and other drivers name it; a URL may encode its letters. */
function isPassword(name: string): boolean {
  const plain = name.replaceAll(/%([0-7][\da-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return /pass(?!file)|pwd|secret/i.test(plain);
}
