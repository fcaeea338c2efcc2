// Colours the code on the docs page where the page is made: it needs no script in the browser, and what is copied has no markup.
const doubleQuoted = String.raw`"(?:[^"\\]|\\.)*"`;
const singleQuoted = String.raw`'(?:[^'\\]|\\.)*'`;
const backquoted = "`[^`]*`";
const number = String.raw`\b\d+(?:\.\d+)?n?\b`;

const grammars = {
  // A URL without quotation marks may contain digits, so numbers are not coloured.
  curl: grammar({ comment: "#.*", string: "'[^']*'" }),
  javascript: grammar({
    comment: "//.*",
    string: `${doubleQuoted}|${singleQuoted}|${backquoted}`,
    number,
    keyword: words("async await catch const else for from function if import let new return throw try"),
  }),
  python: grammar({
    comment: "#.*",
    string: `${doubleQuoted}|${singleQuoted}`,
    number,
    keyword: words("as def else except for from if import in raise return try with"),
  }),
  go: grammar({
    comment: "//.*",
    string: `${doubleQuoted}|${backquoted}`,
    number,
    keyword: words("const defer else for func if import map package range return struct type var"),
  }),
  // The values alone: the names of members are not coloured.
  json: grammar({ string: `(?<=: ?)${doubleQuoted}`, number: String.raw`(?<=: ?)-?\d+` }),
};

export type CodeLanguage = keyof typeof grammars | "http";

/** Puts each comment, string, number and keyword into a <span>. The code is HTML, in which only `&`, `<` and `>` are escaped. */
export function highlight(language: CodeLanguage, code: string): string {
  if (language === "http") return highlightBody(code);
  return code.replaceAll(grammars[language], (text, ...others) => {
    const groups: Record<string, string | undefined> = others.at(-1);
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    return `<span class="${kind}">${text}</span>`;
  });
}

/** The body of an HTTP response is JSON; it begins after the first empty line. */
function highlightBody(response: string): string {
  const bodyAt = response.indexOf("\n\n");
  return response.slice(0, bodyAt) + highlight("json", response.slice(bodyAt));
}

/** Where several patterns match, the first one decides. */
function grammar(patterns: Record<string, string>): RegExp {
  const groups = Object.entries(patterns).map(([kind, pattern]) => `(?<${kind}>${pattern})`);
  return new RegExp(groups.join("|"), "g");
}

function words(list: string): string {
  return String.raw`\b(?:${list.replaceAll(" ", "|")})\b`;
}
