/** A database URL without its password, however it is written, even if the URL is not valid. */
export function withoutPassword(database: string): string {
  // Up to the last @, since a password may contain one; up to the last %40 if there is none.
  const end = database.includes("@") ? "@" : "%40";
  const login = new RegExp(`^(\\s*(?:\\w+:)+/*[^:@/?]*?)(:|%3a).*${end}`, "is");
  return database
    .replace(login, `$1$2***${end}`)
    .replace(/([?&#\s]|^)([^?&#\s=]+)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s]*)/g, (all, before, name, equals) =>
      isPassword(name) ? `${before}${name}${equals}***` : all,
    );
}

// As libpq and other drivers name it; a URL may encode its letters.
function isPassword(name: string): boolean {
  const plain = name.replaceAll(/%([0-7][\da-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return /pass(?!file)|pwd|secret/i.test(plain);
}
