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

test("a sender has its last plant and refusal, and a token that has sent nothing the later use of its name", () => {
  const refused = { ...sender, refusals: 2, lastRefusalAtMs: minutesAgo(1) };
  const silent = [5, 3, undefined].map((minutes) => ({
    ...live,
    name: "shed",
    lastUsedAtMs: minutes && minutesAgo(minutes),
  }));
  expect(listSenders([refused], silent, nowMs)).toEqual([
    {
      name: "greenhouse",
      lastPlantAt: "2026-11-17T12:00:00.000Z",
      refusals: 2,
      lastRefusalAt: "2026-11-17T11:59:00.000Z",
      lastUsedAt: undefined,
    },
    {
      name: "shed",
      lastPlantAt: undefined,
      refusals: 0,
      lastRefusalAt: undefined,
      lastUsedAt: "2026-11-17T11:57:00.000Z",
    },
  ]);
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
