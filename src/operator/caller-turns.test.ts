import { expect, test } from "bun:test";
import { caught } from "../../test/support/caught.ts";
import { fake } from "../../test/support/fake.ts";
import type { Caller } from "../access/scopes.ts";
import { clientGone, type Exchange } from "../http/exchange.ts";
import { CallerTurns } from "./caller-turns.ts";

const callerNamed = (name: string): Caller => ({ name, scopes: [], expiresAtMs: undefined });
const one = callerNamed("one");
const open = fake<Exchange>({ isOpen: true });
/** As the event loop needs to continue whatever can. */
const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));

/** Reads that the test ends; `started` has the names of those that have begun. */
function reads() {
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const read = (name: string) => () => {
    started.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  return { started, read, end: (name: string) => ends.get(name) };
}

test("a caller reads one thing at a time, in order, and others beside it", async () => {
  const turns = new CallerTurns();
  const { started, read, end } = reads();
  const first = turns.take(open, one, read("first"));
  const second = turns.take(open, one, read("second"));
  void turns.take(open, callerNamed("two"), read("another's"));
  await turnOfLoop();
  expect(started).toEqual(["first", "another's"]);
  end("first")?.resolve("page");
  expect(await first).toBe("page");
  await turnOfLoop();
  expect(started).toEqual(["first", "another's", "second"]);
  end("second")?.resolve("page 2");
  expect(await second).toBe("page 2");
});

test("a turn ends with a read that fails, and that of a client that has gone is skipped", async () => {
  const turns = new CallerTurns();
  const { started, read, end } = reads();
  const client = { isOpen: true };
  const failing = turns.take(open, one, read("first"));
  const gone = turns.take(client as Exchange, one, read("of one that goes"));
  void turns.take(open, one, read("third"));
  await turnOfLoop();
  client.isOpen = false;
  end("first")?.reject(new Error("unforeseen"));
  const [failed, skipped] = await Promise.all([caught(failing), caught(gone)]);
  expect(String(failed)).toContain("unforeseen");
  expect(skipped).toBe(clientGone);
  await turnOfLoop();
  expect(started).toEqual(["first", "third"]);
});

test("where 32 requests wait, a new one is refused, but an export that runs waits", async () => {
  const turns = new CallerTurns();
  const { started, read, end } = reads();
  for (let number = 0; number < 1 + 32; number++) void turns.take(open, one, read(`${number}`));
  expect(() => turns.take(open, one, read("refused"))).toThrow(expect.objectContaining({ kind: "too-busy" }));
  void turns.await(open, one, read("a page of an export"));
  for (let number = 0; number < 1 + 32; number++) {
    await turnOfLoop();
    end(`${number}`)?.resolve("page");
  }
  await turnOfLoop();
  expect(started.at(-1)).toBe("a page of an export");
  expect(started).not.toContain("refused");
});
