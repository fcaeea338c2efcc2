import { describe, expect, test } from "bun:test";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import {
  asStoreUnavailable,
  CommitWarning,
  type FaultKind,
  kindOf,
  maySplit,
  ServerUnavailable,
} from "./faults.ts";

const fromServer = (code: string) => Object.assign(new Error("it said so"), { severity: "ERROR", code });
const fromNetwork = (code: string) => Object.assign(new Error("it said so"), { code });

describe("a failure of PostgreSQL", () => {
  const codes: [FaultKind, string[]][] = [
    ["retry", ["40001", "40P01", "55P03"]],
    ["reconnect", ["08006", "57P01", "57P03", "25006", "53300", "42P05", "26000"]],
    ["unavailable", ["53100", "53200", "57014", "28P01", "3D000", "42501", "42P01", "58030"]],
    ["plant", ["22001", "22021", "23514", "54000", "P0001"]],
    ["internal", ["42601", "XX000", "0A000", "25P02", "EPIPE"]],
  ];
  test.each(codes.flatMap(([kind, all]) => all.map((code) => [kind, code] as const)))(
    "is %s with the code %s",
    (kind, code) => {
      expect(kindOf(fromServer(code))).toBe(kind);
      expect(maySplit(fromServer(code))).toBe(kind === "plant" || kind === "internal");
    },
  );

  test.each([
    ["a refused connection", fromNetwork("ECONNREFUSED")],
    ["an unknown host", fromNetwork("ENOTFOUND")],
    ["a connection that closed before TLS began", fromNetwork("ERR_SOCKET_CLOSED")],
    ["an unusable session", new ServerUnavailable("x")],
  ])("by %s needs another connection", (_, error) => {
    expect(kindOf(error)).toBe("reconnect");
  });

  test("by a commit with a warning makes the store unavailable", () => {
    expect(kindOf(new CommitWarning("x"))).toBe("unavailable");
  });

  test("by an expired certificate splits no batch", () => {
    // It would only send one statement for each plant.
    expect(maySplit(fromNetwork("CERT_HAS_EXPIRED"))).toBe(false);
  });

  describe("with the code of an internal error", () => {
    const said = (message: string) => Object.assign(new Error(message), { severity: "ERROR", code: "XX000" });

    // As Citus reports it.
    test.each([
      "server closed the connection unexpectedly\n\tThis probably means",
      "could not receive data from server: Connection reset by peer",
    ])("is a retry if the connection to a worker was lost: %j", (message) => {
      const lost = said(message);
      expect(kindOf(lost)).toBe("retry");
      expect(maySplit(lost)).toBe(false);
    });

    test("is internal if it concerns no connection", () => {
      expect(kindOf(said("invalid page in block 7"))).toBe("internal");
    });
  });

  test("of a read is thrown unchanged if it is internal", () => {
    const internal = fromServer("42601");
    expect(asStoreUnavailable(internal)).toBe(internal);
  });

  test.each([
    ["is a timeout", fromServer("57014")],
    ["is a serialization failure", fromServer("40001")],
    ["has no server", new ServerUnavailable("x")],
  ])("of a read is thrown as StoreUnavailable if it %s", (_, error) => {
    expect(asStoreUnavailable(error)).toBeInstanceOf(StoreUnavailable);
  });
});
