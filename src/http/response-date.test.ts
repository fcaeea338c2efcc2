import { expect, test } from "bun:test";
import { stoppedWallClock } from "../../test/support/clock.ts";
import { hourMs } from "../text/duration.ts";
import { ResponseDate } from "./response-date.ts";

test("the Date header changes with the second, and follows a clock that is set back within one", () => {
  using clock = stoppedWallClock(Date.parse("2026-01-01T00:00:00.750Z"));
  const date = new ResponseDate();
  expect(date.at(5000)).toBe("Thu, 01 Jan 2026 00:00:00 GMT");
  clock.nowMs += 249;
  expect(date.at(5249)).toBe("Thu, 01 Jan 2026 00:00:00 GMT");
  clock.nowMs += 1;
  expect(date.at(5250)).toBe("Thu, 01 Jan 2026 00:00:01 GMT");
  clock.nowMs += 1000 - hourMs;
  expect(date.at(6250)).toBe("Wed, 31 Dec 2025 23:00:02 GMT");
});
