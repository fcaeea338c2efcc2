import { tokenCharacter } from "../http/wire/fields.ts";

const contentTypeCharactersMax = 256;
const token = `${tokenCharacter}+`;
const otherParameter = String.raw`(?!charset=)${token}=(?:${token}|"(?:[^"\\]|\\.)*")`;
const parameter = `(?:charset=(?:utf-?8|"utf-?8")|${otherParameter})`;
// No text matches in two ways, so none takes long to refuse.
const jsonInUtf8 = new RegExp(`^[ \\t]*application/json[ \\t]*(?:;[ \\t]*(?:${parameter}[ \\t]*)?)*$`, "i");

/** Whether a Content-Type is JSON in UTF-8: case and other parameters are fine, another charset is not. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  if (contentType === undefined || contentType.length > contentTypeCharactersMax) return false;
  return jsonInUtf8.test(contentType);
}
