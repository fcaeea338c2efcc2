import { expect, test } from "bun:test";
import { token } from "../../test/support/gate.ts";
import type { Token } from "../access/token.ts";
import type { Sender } from "../telemetry/senders.ts";
import { minuteMs } from "../text/duration.ts";
import { listSenders } from "./senders.ts";

const nowMs = Date.UTC(2026, 10, 17, 12);
const sender: Sender = { name: "greenhouse", lastPlantAtMs: nowMs, refusals: 0, lastRefusalAtMs: undefined };
const live: Token = { ...token, scopes: ["plants:create"], expiresAtMs: undefined };
const minutesAgo = (minutes: number) => nowMs - minutes * minuteMs;

const namesOf = (heard: readonly Sender[], tokens: readonly Token[]) =>
  listSenders(heard, tokens, nowMs).map(({ name }) => name);

test("a sender has its last plant, its refusals and the last of them", () => {
  const refused = { ...sender, refusals: 2, lastRefusalAtMs: minutesAgo(1) };
  expect(listSenders([refused], [], nowMs)).toEqual([
    {
      name: "greenhouse",
      lastPlantAt: "2026-11-17T12:00:00.000Z",
      refusals: 2,
      lastRefusalAt: "2026-11-17T11:59:00.000Z",
      lastUsedAt: undefined,
    },
  ]);
});

test("a token that has sent nothing since the start has its last use", () => {
  expect(listSenders([], [{ ...live, name: "shed", lastUsedAtMs: minutesAgo(60) }], nowMs)).toEqual([
    {
      name: "shed",
      lastPlantAt: undefined,
      refusals: 0,
      lastRefusalAt: undefined,
      lastUsedAt: "2026-11-17T11:00:00.000Z",
    },
  ]);
});

test("two tokens of one name are one sender, with the later use", () => {
  const tokens = [5, 3].map((minutes) => ({ ...live, name: "shed", lastUsedAtMs: minutesAgo(minutes) }));
  const listed = listSenders([], [...tokens, { ...live, name: "shed", lastUsedAtMs: undefined }], nowMs);
  expect(listed).toMatchObject([{ name: "shed", lastUsedAt: "2026-11-17T11:57:00.000Z" }]);
});

test.each<[string, Partial<Token>]>([
  ["has ended", { revokedAtMs: 1 }],
  ["may not send plants", { scopes: ["operator"] }],
  ["has the name of a sender", { name: sender.name }],
])("a token that %s is not listed", (_, over) => {
  expect(namesOf([sender], [{ ...live, name: "shed", ...over }])).toEqual(["greenhouse"]);
});

test("who sent last is first, and those of one minute are in the order of their names", () => {
  const heard = [
    { ...sender, name: "b", lastPlantAtMs: nowMs - 1 },
    { ...sender, name: "stopped", lastPlantAtMs: minutesAgo(30) },
    { ...sender, name: "a", lastPlantAtMs: nowMs - 2000 },
    { ...sender, name: "refused", lastPlantAtMs: undefined, lastRefusalAtMs: minutesAgo(2) },
  ];
  const tokens = [
    { ...live, name: "unused", lastUsedAtMs: undefined },
    { ...live, name: "used", lastUsedAtMs: minutesAgo(10) },
  ];
  expect(namesOf(heard, tokens)).toEqual(["a", "b", "refused", "used", "stopped", "unused"]);
});
