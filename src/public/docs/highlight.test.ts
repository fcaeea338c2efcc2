import { expect, test } from "bun:test";
import { highlight } from "./highlight.ts";

test.each([
  ["curl", "curl http://127.0.0.1:3000/plants -d 'It is 1'", "string 'It is 1'"],
  ["curl", "# Right: 1", "comment # Right: 1"],
  ["javascript", 'const url = "http://localhost:3000";', 'keyword const, string "http://localhost:3000"'],
  ["javascript", "// const a = 1", "comment // const a = 1"],
  ["javascript", "const id2 = 1n", "keyword const, number 1n"],
  ["javascript", "'it\\'s' + `a\nb`", "string 'it\\'s', string `a\nb`"],
  ["python", "import json # 1", "keyword import, comment # 1"],
  ["python", 'float("# 1") + imported', 'string "# 1"'],
  ["go", 'ID int64 `json:"id"` // 7', 'string `json:"id"`, comment // 7'],
  ["json", '{"error":40020,"message":"The \\"id\\": 1"}', 'number 40020, string "The \\"id\\": 1"'],
  ["http", 'HTTP/1.1 429 Too Many\nRetry-After: 1\n\n{"error":42901}', "number 42901"],
] as const)("in %s, of %p it colours %p", (language, code, expected) => {
  const spans = highlight(language, code).matchAll(/<span class="(\w+)">(.*?)<\/span>/gs);
  expect(Array.from(spans, ([, kind, text]) => `${kind} ${text}`).join(", ")).toBe(expected);
});

test("the text of the code stays as it is", () => {
  const code = 'const token = "&lt;ACCESS_TOKEN&gt;"; // &amp; no more';
  expect(highlight("javascript", code).replaceAll(/<\/?span[^>]*>/g, "")).toBe(code);
});
