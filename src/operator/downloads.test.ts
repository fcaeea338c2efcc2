import { expect, spyOn, test } from "bun:test";
import type { Caller, Gate } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { Downloads } from "./downloads.ts";

test("a link is good for a minute, while its caller is allowed, and there are only so many", () => {
  let allowed = true;
  let nowMs = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => nowMs);
  const downloads = new Downloads<string>({ watch: () => () => allowed } as unknown as Gate, "operator");
  const caller: Caller = { name: "ops", scopes: ["operator"], expiresAtMs: undefined };
  const request = { method: "GET", header: () => undefined, admit() {} } as unknown as Exchange;
  const create = () => downloads.createLink(request, caller, "file");
  const follow = (parameter: string) => downloads.follow({ ...request, parameter } as Exchange);

  const [first = "", second = ""] = Array.from({ length: 1000 }, create);
  expect(create).toThrow("Too many downloads");
  nowMs = 60_000;
  expect(follow(first)).toMatchObject({ target: "file", caller });
  nowMs = 60_001;
  expect(() => follow(second)).toThrow("was already used");
  const [third] = [create(), create()];
  allowed = false;
  expect(() => follow(third)).toThrow("was already used");
});
