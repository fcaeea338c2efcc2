import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { codeOf, describeFileError, describeWriteError, messageOf, pathOf } from "./errors.ts";

const missingFile = "/no-such-folder/no-such-file";

const errorOfMissingFile = () => thrownBy(() => readFileSync(missingFile));

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

test("an error of the operating system has a code, a message and the file that it is about", () => {
  const error = errorOfMissingFile();
  expect(codeOf(error)).toBe("ENOENT");
  expect(pathOf(error)).toBe(missingFile);
  expect(messageOf(error)).toStartWith("ENOENT: no such file or directory");
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

test("an error about a file is described in words, without its path, or else by its message", () => {
  expect(describeFileError(errorOfMissingFile())).toBe("no such file or directory");
  const unknown = Object.assign(new Error("text file busy"), { code: "ETXTBSY" });
  expect(describeFileError(unknown)).toBe("text file busy");
});

describe("why a file could not be written", () => {
  test("names the file", () => {
    const error = thrownBy(() => writeFileSync(missingFile, ""));
    expect(describeWriteError(error)).toBe(`${missingFile} cannot be written: no such file or directory`);
  });

  test("names the file that another was to be renamed to", () => {
    using folder = temporaryFolder();
    const from = folder.newPath();
    const to = folder.newPath();
    writeFileSync(from, "");
    mkdirSync(to);
    const error = thrownBy(() => renameSync(from, to));
    expect(describeWriteError(error)).toBe(`${to} cannot be written: it is a directory`);
  });

  test("has no full stop, also if it is a sentence", () => {
    expect(describeWriteError(new Error("The folder is gone."))).toBe("The folder is gone");
  });
});
