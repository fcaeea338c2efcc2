import { expect, test } from "bun:test";
import { Strangers } from "./strangers.ts";

const fewMax = 2;

/** Connections by name, each of a network. */
function start() {
  const strangers = new Strangers<{ name: string; network: string; isStranger: boolean }>(fewMax);
  const open = (name: string, network: string) => {
    const connection = { name, network, isStranger: true };
    strangers.opened(connection);
    return connection;
  };
  const admit = (connection: ReturnType<typeof open>) => {
    connection.isStranger = false;
    strangers.admitted(connection);
  };
  return { strangers, open, admit, next: () => strangers.choose()?.name };
}

test("of a network with many strangers, the oldest is next", () => {
  const { open, next } = start();
  open("other", "b");
  for (const name of ["first", "second", "third"]) open(name, "a");
  expect(next()).toBe("first");
});

test("of networks with a few strangers each, the oldest of all is next", () => {
  const { open, next } = start();
  open("first", "a");
  open("second", "b");
  open("third", "b");
  expect(next()).toBe("first");
});

test("of networks with a few strangers each, one with an admitted connection comes last", () => {
  const { open, admit, next } = start();
  admit(open("admitted", "a"));
  open("first", "a");
  open("second", "b");
  expect(next()).toBe("second");
});

test("a network with many strangers comes first, though it has an admitted connection", () => {
  const { open, admit, next } = start();
  admit(open("admitted", "a"));
  for (const name of ["first", "second", "third"]) open(name, "a");
  open("other", "b");
  expect(next()).toBe("first");
});

test("a network that had many strangers and lost them counts as it is now", () => {
  const { strangers, open, admit, next } = start();
  open("other", "b");
  const first = open("first", "a");
  const second = open("second", "a");
  open("third", "a");
  admit(second);
  strangers.closed(first);
  expect(strangers.count).toBe(2);
  expect(next()).toBe("other");
});

test("a network with an admitted connection comes last, however many others have come and gone", () => {
  const { strangers, open, admit, next } = start();
  admit(open("admitted", "a"));
  open("known", "a");
  for (let host = 0; host < 1000; host++) {
    const stranger = open(`stranger ${host}`, `b${host}`);
    expect(next()).toBe(stranger.name);
    strangers.closed(stranger);
  }
  expect(next()).toBe("known");
});
