import { expect, test } from "bun:test";
import type { RefusedSender } from "../telemetry/refused-senders.ts";
import { presentRefusal } from "./refusals.ts";

const publicUrl = "https://plants.example";
const token = "a-token-of-the-configuration";
const conflict: RefusedSender = {
  listener: "public",
  error: 40020,
  token: "greenhouse",
  address: undefined,
  message: "The id -9223372036854775808 already belongs to a plant with a different name.",
  requestId: "0123456789abcdef-zzzz",
  requestIdIsMinted: true,
  count: 3,
  atMs: Date.UTC(2026, 10, 17, 12),
};

test("a refusal names the error, its entry on the docs page, the sender and what it got last", () => {
  expect(presentRefusal(conflict, publicUrl)).toEqual({
    error: 40020,
    reason: "`id` already belongs to a different plant",
    docsUrl: "https://plants.example/docs#40020",
    listener: "public",
    token: "greenhouse",
    address: undefined,
    count: 3,
    lastAt: "2026-11-17T12:00:00.000Z",
    message: conflict.message,
    messageIsExample: false,
    requestId: "0123456789abcdef-zzzz",
  });
});

test("an error of the operator listener alone has no entry on the docs page", () => {
  expect(presentRefusal({ ...conflict, error: 42101 }, publicUrl).docsUrl).toBeUndefined();
});

test("the message of an error that quotes what was requested is an example", () => {
  const errors = [40001, 40401, 40402, 40501, 42101];
  const isExample = (error: number) => presentRefusal({ ...conflict, error }, publicUrl).messageIsExample;
  expect(errors.filter(isExample)).toEqual([40401, 40501, 42101]);
});

test("a message has at most 300 characters, in which a token is masked even at their end", () => {
  const messageOf = (message: string) => presentRefusal({ ...conflict, message }, publicUrl).message;
  expect(messageOf("m ".repeat(500))).toHaveLength(300);
  expect(messageOf(`but is the string "${token}".`)).toBe('but is the string "[masked]".');
  expect(messageOf(`${"m ".repeat(145)}${token}`)).toEndWith("m [masked]");
});

test("a token that a client sent as its request id is masked", () => {
  const sent = { ...conflict, requestId: token, requestIdIsMinted: false };
  expect(presentRefusal(sent, publicUrl).requestId).toBe("[masked]");
});
