import { expect, test } from "bun:test";
import { createLog } from "./log.ts";

const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code))
  .filter((character) => /\p{Cc}/u.test(character))
  .join("");

for (const format of ["json", "pretty"] as const)
  test(`a ${format} line contains no control character but its line break`, () => {
    const lines: string[] = [];
    const log = createLog({
      level: "info",
      format,
      colour: false,
      write: (text) => void lines.push(text),
    });
    log.warn("refused", { "url.path": controls, "exception.message": "plain \u009b31m" });
    const [line = ""] = lines;
    expect(line).toMatch(/^\P{Cc}+\n$/u);
    if (format === "json") expect(JSON.parse(line)).toMatchObject({ "url.path": controls });
    expect(line).toContain("\\u009b31m");
  });
