const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// A parameter is NAME=TOKEN or NAME="QUOTED"; only the charset's value matters to us.
const parameter =
  /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|"((?:[^"\\]|\\.)*)")\s*$/;

/** Whether a Content-Type is JSON in UTF-8: case and other parameters are fine, another charset is not. */
export function isJsonMediaType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  if (contentType === undefined) return false;
  const [type = "", ...parameters] = contentType.split(";");
  if (type.trim().toLowerCase() !== "application/json") return false;
  return parameters.every((text) => {
    if (text.trim() === "") return true;
    const match = parameter.exec(text);
    if (match === null) return false;
    const [, name = "", plain, quoted] = match;
    return !token.test(name) || name.toLowerCase() !== "charset" || /^utf-?8$/i.test(plain ?? quoted ?? "");
  });
}
