import { expect, test } from "bun:test";
import { FailedCredentials } from "./failed-credentials.ts";

interface Guess {
  answered: boolean;
  closes: boolean;
}

function guesses(connectionsMax = 1000) {
  const many: [string, number][] = [];
  const clock = { nowMs: 0 };
  const failed = new FailedCredentials({
    connectionsMax,
    onMany: (address, failures) => many.push([address, failures]),
    now: () => clock.nowMs,
  });
  const guess = (address: string): Guess => {
    const made = { answered: false, closes: false };
    const closeAfterResponse = (): void => {
      made.closes = true;
    };
    failed.respond({ address, closeAfterResponse }, () => {
      made.answered = true;
    });
    return made;
  };
  const guessOften = (address: string, count: number): Guess[] =>
    Array.from({ length: count }, () => guess(address));
  return { failed, many, clock, guess, guessOften };
}

test("ten failures of a client are answered immediately, further ones are held, those of others are not", () => {
  const { guess, guessOften } = guesses();
  expect(guessOften("192.0.2.1", 10).every(({ answered }) => answered)).toBe(true);
  expect(guess("192.0.2.1")).toEqual({ answered: false, closes: false });
  expect(guess("192.0.2.2").answered).toBe(true);
});

test("the addresses of one IPv6 /64 are one client", () => {
  const { guess } = guesses();
  for (let host = 1; host <= 10; host++) guess(`2001:db8:0:1::${host}`);
  expect(guess("2001:db8:0:1:ffff::1").answered).toBe(false);
  expect(guess("2001:db8:0:2::1").answered).toBe(true);
});

test("a held response is eventually sent", async () => {
  const { failed, guess, guessOften } = guesses();
  guessOften("192.0.2.1", 10);
  const held = guess("192.0.2.1");
  expect(failed.held).toBe(1);
  while (!held.answered) await Bun.sleep(1);
  expect(failed.held).toBe(0);
});

test("at most a quarter of the connections are held, a quarter of these by one client; the rest are closed", () => {
  const { failed, guessOften } = guesses(64);
  const one = guessOften("192.0.2.1", 30);
  expect(failed.held).toBe(4);
  expect(one.slice(14)).toEqual(Array(16).fill({ answered: true, closes: true }));
  for (let client = 2; client < 20; client++) guessOften(`192.0.2.${client}`, 30);
  expect(failed.held).toBe(16);
});

test("a client is forgotten after a minute without failures, or when 10,000 others have failed since", () => {
  const { clock, guess, guessOften } = guesses();
  guessOften("192.0.2.1", 11);
  clock.nowMs = 60_001;
  expect(guess("192.0.2.1").answered).toBe(true);
  guessOften("192.0.2.1", 10);
  for (let client = 0; client < 10_000; client++) guess(`10.0.${client >> 8}.${client & 255}`);
  expect(guess("192.0.2.1").answered).toBe(true);
});

test("the tenth, hundredth and thousandth failure of a client are reported", () => {
  const { many, guessOften } = guesses();
  guessOften("192.0.2.1", 1500);
  guessOften("192.0.2.2", 9);
  expect(many).toEqual([
    ["192.0.2.1", 10],
    ["192.0.2.1", 100],
    ["192.0.2.1", 1000],
  ]);
});
