import { expect, test } from "bun:test";
import { createLog } from "./log.ts";

const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code))
  .filter((character) => /\p{Cc}/u.test(character))
  .join("");

/** The line about a request whose path has every control character. */
function logControls(format: "json" | "pretty"): string {
  const lines: string[] = [];
  const write = (text: string) => void lines.push(text);
  const log = createLog({ level: "info", format, hasColour: false, isForJournal: false, write });
  log.warn("refused", { "url.path": controls, "exception.message": "plain \u009b31m" });
  return lines.join("");
}

test.each(["json", "pretty"] as const)("a %s line has control characters escaped", (format) => {
  expect(logControls(format)).toMatch(/^\P{Cc}+\n$/u);
  expect(logControls(format)).toContain("\\u009b31m");
});

test("a json line has the text that was sent once it is parsed", () => {
  expect(JSON.parse(logControls("json"))).toMatchObject({ "url.path": controls });
});

test("a pretty line names fields by their last part, and has the request id last", () => {
  const lines: string[] = [];
  const write = (text: string) => void lines.push(text);
  const log = createLog({ level: "info", format: "pretty", hasColour: false, isForJournal: false, write });
  log.info("refused", {
    "plant_store.request_id": "r-1",
    "client.address": "127.0.0.1",
    "plant_store.token": "first",
    "http.request.method": "POST",
    "error.type": "40002",
    "url.full": undefined,
  });
  expect(lines[0]).toEndWith(
    "refused client.address=127.0.0.1 token=first method=POST error.type=40002 request_id=r-1\n",
  );
});
