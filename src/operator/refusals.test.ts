import { expect, test } from "bun:test";
import { mintSecret } from "../access/token-secret.ts";
import type { RefusedSender } from "../telemetry/refused-senders.ts";
import { presentRefusal } from "./refusals.ts";

const publicUrl = "https://plants.example";
const token = mintSecret();
const conflict: RefusedSender = {
  listener: "public",
  error: 40020,
  token: "greenhouse",
  address: undefined,
  message: "The id -9223372036854775808 already belongs to a plant with a different name.",
  requestId: "0123456789abcdef-zzzz",
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
    requestId: "0123456789abcdef-zzzz",
  });
  // The docs page has no error of the operator listener alone.
  expect(presentRefusal({ ...conflict, error: 42101 }, publicUrl).docsUrl).toBeUndefined();
});

test("a message has at most 300 characters, in which a token is masked even at their end", () => {
  const messageOf = (message: string) => presentRefusal({ ...conflict, message }, publicUrl).message;
  expect(messageOf("m ".repeat(500))).toHaveLength(300);
  expect(messageOf(`but is the string "${token}".`)).toBe('but is the string "[masked]".');
  expect(messageOf(`${"m ".repeat(145)}${token}`)).toEndWith("m [masked]");
});
