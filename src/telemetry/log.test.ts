import { expect, test } from "bun:test";
import { createLog } from "./log.ts";

const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code))
  .filter((character) => /\p{Cc}/u.test(character))
  .join("");

test.each(["json", "pretty"] as const)(
  "a %s line contains no control character but its line break",
  (format) => {
    const lines: string[] = [];
    const write = (text: string) => void lines.push(text);
    const log = createLog({ level: "info", format, hasColour: false, isForJournal: false, write });
    log.warn("refused", { "url.path": controls, "exception.message": "plain \u009b31m" });
    const [line = ""] = lines;
    expect(line).toMatch(/^\P{Cc}+\n$/u);
    if (format === "json") expect(JSON.parse(line)).toMatchObject({ "url.path": controls });
    expect(line).toContain("\\u009b31m");
  },
);
