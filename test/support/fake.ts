/**
 * An object with only these members of a type, for code that uses no others. The type check refuses one that the type does not
 * have, such as after a rename, or that has another signature.
 */
export function fake<Type extends object>(members: Partial<Type>): Type {
  return members as Type;
}
