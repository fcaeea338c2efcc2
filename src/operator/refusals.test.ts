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

test.each([40401, 40501, 42101])("the message of %i is an example", (error) => {
  expect(presentRefusal({ ...conflict, error }, publicUrl).messageIsExample).toBe(true);
});

test("a token in a message is masked", () => {
  const message = `Field "id" must be an integer, but is the string "${token}".`;
  expect(presentRefusal({ ...conflict, message }, publicUrl).message).toBe(
    'Field "id" must be an integer, but is the string "[masked]".',
  );
});

test("a token at the end of what is shown of a message is masked", () => {
  const { message } = presentRefusal({ ...conflict, message: `${"m ".repeat(145)}${token}` }, publicUrl);
  expect(message).toEndWith("m [masked]");
});

test("a message has at most 300 characters", () => {
  const { message } = presentRefusal({ ...conflict, message: "m ".repeat(500) }, publicUrl);
  expect(message).toHaveLength(300);
});

test("a token that a client sent as its request id is masked", () => {
  const sent = { ...conflict, requestId: token, requestIdIsMinted: false };
  expect(presentRefusal(sent, publicUrl).requestId).toBe("[masked]");
});
