import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { codeOf, describeFileError, messageOf, pathOf } from "./errors.ts";

const missingFile = "/no-such-folder/no-such-file";

function errorOfMissingFile(): unknown {
  try {
    return readFileSync(missingFile);
  } catch (error) {
    return error;
  }
}

test("an error of the operating system has a code", () => {
  expect(codeOf(errorOfMissingFile())).toBe("ENOENT");
});

test("an error of the operating system names its file", () => {
  expect(pathOf(errorOfMissingFile())).toBe(missingFile);
});

test("an error of the operating system has a message", () => {
  expect(messageOf(errorOfMissingFile())).toStartWith("ENOENT: no such file or directory");
});

test.each([
  ["an error without a code", new Error("lost"), "lost"],
  // A DOMException has the number of an older standard.
  ["an error whose code is a number", new DOMException("lost"), "lost"],
  ["a string", "lost", "lost"],
  ["undefined", undefined, "undefined"],
])("%s has a message without a code", (_, thrown, message) => {
  expect(codeOf(thrown)).toBe("");
  expect(pathOf(thrown)).toBeUndefined();
  expect(messageOf(thrown)).toBe(message);
});

test("an error about a file is described in words, without its path", () => {
  expect(describeFileError(errorOfMissingFile())).toBe("no such file or directory");
});

test("an error with no words of ours is described by its message", () => {
  expect(describeFileError(Object.assign(new Error("text file busy"), { code: "ETXTBSY" }))).toBe(
    "text file busy",
  );
});
