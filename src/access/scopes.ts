/**
 * What a token allows: POST /plants; reading plants on the operator listener; scraping /metrics; and everything on the operator
 * listener but POST /plants.
 */
export const scopes = ["plants:create", "operator:read", "metrics", "operator"] as const;

/** The scopes of a token that is created without naming any. */
export const scopesDefault: readonly Scope[] = ["plants:create"];

export type Scope = (typeof scopes)[number];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}

/** Whether someone with these scopes may use what needs that one. */
export function allows(granted: readonly Scope[], needed: Scope): boolean {
  return granted.includes(needed) || (needed !== "plants:create" && granted.includes("operator"));
}
