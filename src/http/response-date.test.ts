import { expect, spyOn, test } from "bun:test";
import { ResponseDate } from "./response-date.ts";

test("the Date header changes with the second", () => {
  let wallMs = Date.parse("2026-01-01T00:00:00.750Z");
  using _clock = spyOn(Date, "now").mockImplementation(() => wallMs);
  const date = new ResponseDate();
  expect(date.at(5000)).toBe("Thu, 01 Jan 2026 00:00:00 GMT");
  wallMs += 249;
  expect(date.at(5249)).toBe("Thu, 01 Jan 2026 00:00:00 GMT");
  wallMs += 1;
  expect(date.at(5250)).toBe("Thu, 01 Jan 2026 00:00:01 GMT");
});

test("the Date header follows a clock that is set back, within a second", () => {
  let wallMs = Date.parse("2026-01-01T00:00:01Z");
  using _clock = spyOn(Date, "now").mockImplementation(() => wallMs);
  const date = new ResponseDate();
  expect(date.at(5000)).toBe("Thu, 01 Jan 2026 00:00:01 GMT");
  wallMs -= 3_600_000;
  wallMs += 1000;
  expect(date.at(6000)).toBe("Wed, 31 Dec 2025 23:00:02 GMT");
});
