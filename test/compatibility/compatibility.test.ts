// What 2.0.0 promised, this version has. docs/compatibility.md says what that covers.
import { expect, test } from "bun:test";
import recorded from "../fixtures/2.0.0/surface.json" with { type: "json" };
import { recordSurface } from "./surface.ts";

test("nothing that 2.0.0 promised is gone or different", async () => {
  expect(lackingIn(await recordSurface(), recorded)).toEqual([]);
});

/** What a surface lacks of a recorded one: names that it no longer has, and values that differ, each with its place. */
function lackingIn(surface: unknown, record: unknown, place = ""): string[] {
  if (Array.isArray(record)) {
    const names = Array.isArray(surface) ? surface : [];
    return record.filter((name) => !names.includes(name)).map((name) => `${place}: ${name}`);
  }
  if (typeof record !== "object" || record === null)
    return surface === record ? [] : [`${place}: ${record} is now ${surface}`];
  const members = (surface ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(record).flatMap(([name, value]) =>
    lackingIn(members[name], value, place === "" ? name : `${place} of ${name}`),
  );
}
