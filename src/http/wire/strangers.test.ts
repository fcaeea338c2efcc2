import { expect, test } from "bun:test";
import fc from "fast-check";
import { Strangers } from "./strangers.ts";

interface Connection {
  readonly network: string;
  isStranger: boolean;
}

/** The connections that may be closed next, found by looking at all; `strangers` are in the order in which they became that. */
function eligible(strangers: Connection[], admitted: Connection[], fewMax: number): Connection[] {
  const networks = [...Map.groupBy(strangers, ({ network }) => network).values()];
  const most = Math.max(0, ...networks.map(({ length }) => length));
  if (most > fewMax)
    return networks.filter(({ length }) => length === most).flatMap(([oldest]) => oldest ?? []);
  const known = new Set(admitted.map(({ network }) => network));
  // It does not look further.
  const unknown = strangers.slice(0, 64).find(({ network }) => !known.has(network));
  return [unknown ?? strangers[0]].filter((connection) => connection !== undefined);
}

test("the stranger to close is that of a plain search, whatever was opened, admitted, denied and closed", () => {
  const event = fc.record({
    kind: fc.constantFrom("open", "open", "admit", "deny", "close"),
    network: fc.constantFrom(..."aaabbcdefgh"),
    which: fc.nat(1000),
  });
  fc.assert(
    fc.property(fc.nat(3), fc.array(event, { maxLength: 500, size: "max" }), (fewMax, events) => {
      const subject = new Strangers<Connection>(fewMax);
      const strangers: Connection[] = [];
      const admitted: Connection[] = [];
      const take = (list: Connection[], which: number) => list.splice(which % list.length, 1)[0];
      for (const { kind, network, which } of events) {
        if (kind === "open") {
          const connection = { network, isStranger: true };
          strangers.push(connection);
          subject.opened(connection);
        } else {
          const isStranger = kind === "admit" || (kind === "close" && which % 2 === 0);
          const connection = take(isStranger ? strangers : admitted, which);
          if (connection === undefined) continue;
          connection.isStranger = kind === "deny" || (kind === "close" && isStranger);
          if (kind === "admit") {
            admitted.push(connection);
            subject.admitted(connection);
          } else if (kind === "deny") {
            strangers.push(connection);
            subject.becameStranger(connection);
          } else subject.closed(connection);
        }
        expect(subject.count).toBe(strangers.length);
        const chosen = subject.choose();
        if (chosen === undefined) expect(strangers).toEqual([]);
        else expect(eligible(strangers, admitted, fewMax)).toContain(chosen);
      }
    }),
    { numRuns: 60 },
  );
});

test("a network with an admitted connection comes last, however many others have come and gone", () => {
  const strangers = new Strangers<Connection>(2);
  const open = (network: string) => {
    const connection = { network, isStranger: true };
    strangers.opened(connection);
    return connection;
  };
  const admitted = open("a");
  admitted.isStranger = false;
  strangers.admitted(admitted);
  const known = open("a");
  for (let host = 0; host < 1000; host++) {
    const stranger = open(`b${host}`);
    expect(strangers.choose()).toBe(stranger);
    strangers.closed(stranger);
  }
  // It is still known.
  open("a");
  expect(strangers.choose()).toBe(known);
});
