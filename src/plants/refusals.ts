/** Everything that can be wrong with a plant that was sent. The list is closed; the edge gives each its number. */
export type RefusalKind =
  | "body-empty"
  | "not-json"
  | "not-text"
  | "not-an-object"
  | "name-repeated"
  | "field-missing"
  | "wrong-type"
  | "not-int64"
  | "holds-nul"
  | "id-taken";

/** Why a plant was not taken, in words for the person who sent it. */
export class Refusal {
  readonly kind: RefusalKind;
  readonly message: string;

  constructor(kind: RefusalKind, message: string) {
    this.kind = kind;
    this.message = message;
  }
}

/** Several faults in one body become one refusal: the first gives the kind, the message tells them all. */
export function together(first: Refusal, others: readonly Refusal[]): Refusal {
  return new Refusal(first.kind, [first, ...others].map((fault) => fault.message).join(" "));
}
