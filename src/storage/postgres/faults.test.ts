import { describe, expect, test } from "bun:test";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { asStoreUnavailable, type FaultKind, kindOf, maySplit, ServerUnavailable } from "./faults.ts";

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
  test("is known by its code, and splits a batch only if a plant may be the cause", () => {
    const all = codes.flatMap(([kind, ofKind]) => ofKind.map((code) => ({ kind, code })));
    expect(all.map(({ code }) => ({ kind: kindOf(fromServer(code)), code }))).toEqual(all);
    const splitting = all.filter(({ code }) => maySplit(fromServer(code)));
    expect(splitting).toEqual(all.filter(({ kind }) => kind === "plant" || kind === "internal"));
    // After an expired certificate, it would only send one statement for each plant.
    expect(maySplit(fromNetwork("CERT_HAS_EXPIRED"))).toBe(false);
  });

  test("of the network, or of a session that is unusable, needs another connection", () => {
    const errors = ["ECONNREFUSED", "ENOTFOUND", "ERR_SOCKET_CLOSED"].map(fromNetwork);
    for (const error of [...errors, new ServerUnavailable("x")]) expect(kindOf(error)).toBe("reconnect");
  });

  test("by a commit with a warning makes the store unavailable", () => {
    expect(kindOf(new StoreUnavailable("x"))).toBe("unavailable");
  });

  // As Citus reports it.
  test("with the code of an internal error is a retry if the connection to a worker was lost", () => {
    const said = (message: string) => Object.assign(new Error(message), { severity: "ERROR", code: "XX000" });
    const lost = [
      "server closed the connection unexpectedly\n\tThis probably means",
      "could not receive data from server: Connection reset by peer",
    ].map(said);
    expect(lost.map(kindOf)).toEqual(["retry", "retry"]);
    expect(lost.map(maySplit)).toEqual([false, false]);
    expect(kindOf(said("invalid page in block 7"))).toBe("internal");
  });

  test("of a read is thrown as StoreUnavailable, unless it is internal", () => {
    const internal = fromServer("42601");
    expect(asStoreUnavailable(internal)).toBe(internal);
    for (const passing of [fromServer("57014"), fromServer("40001"), new ServerUnavailable("x")])
      expect(asStoreUnavailable(passing)).toBeInstanceOf(StoreUnavailable);
  });
});
