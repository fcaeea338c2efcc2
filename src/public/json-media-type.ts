import { tokenCharacter } from "../http/wire/fields.ts";

const contentTypeCharactersMax = 256;
const token = `${tokenCharacter}+`;
const parameter = new RegExp(`[ \\t]*;[ \\t]*(?:(${token})=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)"))?`, "y");
const jsonType = /^[ \t]*application\/json/i;
const utf8 = /^utf-?8$/i;

/** Whether a Content-Type is JSON in UTF-8: case and other parameters are fine, another charset is not. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  if (contentType === undefined || contentType.length > contentTypeCharactersMax) return false;
  const type = jsonType.exec(contentType);
  if (type === null) return false;
  let at = type[0].length;
  for (;;) {
    parameter.lastIndex = at;
    const match = parameter.exec(contentType);
    if (match === null) return contentType.slice(at).trim() === "";
    const [whole, name = "", plain, quoted] = match;
    if (name.toLowerCase() === "charset" && !utf8.test(plain ?? quoted ?? "")) return false;
    at += whole.length;
  }
}
