/** What a token allows. `plants:create` is for POST /plants, `operator` for the operator's own surfaces. */
export const scopes = ["plants:create", "operator"] as const;

export type Scope = (typeof scopes)[number];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}
