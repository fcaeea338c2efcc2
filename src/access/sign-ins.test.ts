import { expect, test } from "bun:test";
import { SignIns } from "./sign-ins.ts";

const from = (actor: string, address: string) => ({ actor, address });

test("a sign-in is recorded once per minute for each actor and address", async () => {
  const signIns = new SignIns();
  const recorded: string[] = [];
  const signIn = (actor: string, address: string, nowMs: number) =>
    signIns.once(from(actor, address), nowMs, async () => void recorded.push(`${actor} ${address} ${nowMs}`));
  for (const nowMs of [0, 1, 59_999, 60_000, 119_999]) await signIn("a", "1", nowMs);
  await signIn("a", "2", 2);
  await signIn("b", "1", 3);
  expect(recorded).toEqual(["a 1 0", "a 1 60000", "a 2 2", "b 1 3"]);
});

test("sign-ins wait for the entry they share, and fail with it; the next one writes its own", async () => {
  const signIns = new SignIns();
  const { promise, reject } = Promise.withResolvers<void>();
  const pending = [0, 1].map((nowMs) => signIns.once(from("a", "1"), nowMs, () => promise));
  reject(new Error("refused"));
  for (const { status } of await Promise.allSettled(pending)) expect(status).toBe("rejected");
  let recorded = 0;
  await signIns.once(from("a", "1"), 2, async () => void recorded++);
  expect(recorded).toBe(1);
});

test("only the last thousand are remembered, so that addresses cannot fill the memory", async () => {
  const signIns = new SignIns();
  let recorded = 0;
  const signIn = (address: number) => signIns.once(from("a", `${address}`), 0, async () => void recorded++);
  for (let address = 0; address <= 1000; address++) await signIn(address);
  await signIn(1);
  expect(recorded).toBe(1001);
  await signIn(0);
  expect(recorded).toBe(1002);
});
