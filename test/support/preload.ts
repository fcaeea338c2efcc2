// scripts/run-tests.js loads this before each test file: a test that fails then also prints the logs of its services.
import * as bunTest from "bun:test";
import { minuteMs } from "../../src/text/duration.ts";
import { forgetEndedServices, serviceLogs } from "./service-logs.ts";

type Body = (...args: unknown[]) => unknown;
type Test = (name: string, body?: Body, ...options: unknown[]) => unknown;

// Bun's hooks do not learn whether a test has failed.
const { mock, ...original } = { ...bunTest };
const test = new Proxy(original.test, {
  apply: (target, _, args: Parameters<Test>) => declare(target as unknown as Test, args),
  get(target, name) {
    const member = Reflect.get(target, name);
    // test.skipIf(…)(name, body) and test.each(…)(name, body)
    if (name === "skipIf" || name === "each")
      return (...given: unknown[]) => {
        const chosen = member.apply(target, given);
        return (...args: Parameters<Test>) => declare(chosen, args);
      };
    return typeof member === "function" ? member.bind(target) : member;
  },
});
mock.module("bun:test", () => ({ ...original, mock, test, it: test }));

// A test that times out takes its servers with it, so a machine must be very slow for one that works.
const testMsMin = 2 * minuteMs;

function declare(test: Test, [name, body, ...given]: Parameters<Test>): unknown {
  if (body === undefined) return test(name);
  const options = given.map((option) => (typeof option === "number" ? Math.max(option, testMsMin) : option));
  return test(
    name,
    async (...args) => {
      forgetEndedServices();
      try {
        await body(...args);
      } catch (error) {
        const logs = serviceLogs();
        if (error instanceof Error && logs !== "") error.message += `\n\nThe services said:\n${logs}`;
        throw error;
      }
    },
    ...options,
  );
}
