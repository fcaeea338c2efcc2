/**
 * What a token allows: POST /plants; reading plants and nothing else; looking at what the service does, too; scraping /metrics; and
 * everything on the operator listener but POST /plants.
 */
export const scopes = ["plants:create", "plants:read", "operator:read", "metrics", "operator"] as const;

/** The scopes of a token that is created without naming any. */
export const scopesDefault: readonly Scope[] = ["plants:create"];

export type Scope = (typeof scopes)[number];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}

/** Who is calling. */
export interface Caller {
  readonly name: string;
  /** Only a token of the store has one. */
  readonly id?: string;
  readonly scopes: readonly Scope[];
  readonly expiresAtMs: number | undefined;
  /** Whether its token is a JWT of the identity provider. */
  readonly hasJwt?: boolean;
}

// The scopes that contain others.
const contained: Readonly<Partial<Record<Scope, readonly Scope[]>>> = {
  "operator:read": ["plants:read"],
  operator: ["plants:read", "operator:read", "metrics"],
};

/** Whether someone with these scopes may use what needs that one. */
export function allows(granted: readonly Scope[], needed: Scope): boolean {
  return granted.some((scope) => scope === needed || contained[scope]?.includes(needed));
}
