// The tokens of every test service, and what finds a secret in a text.

export const accessToken = "test-access-token-0123456789";
export const operatorToken = "test-operator-token-0123456789";
/** Presets the access token, for a service and for what sends plants to it. */
export const accessTokenEnvironment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
export const bothTokensEnvironment = { ...accessTokenEnvironment, PLANT_STORE_OPERATOR_TOKEN: operatorToken };

/** The header that sends a token. */
export function bearer(token: string): { readonly Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}

/** The secrets in a text: those of every test service, any that was minted, and JWTs. No log of any test may contain one. */
export function findSecrets(text: string): string[] {
  const preset = [accessToken, operatorToken].filter((token) => text.includes(token));
  return [...preset, ...(text.match(/pst_[0-9A-Za-z]{49}|\beyJ[\w-]{20,}/g) ?? [])];
}
