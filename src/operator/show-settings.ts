import type { Route } from "../http/route.ts";

export interface SettingsParts {
  /** As `plant-store config` lists them: no secret has its value. */
  readonly settings: readonly { readonly name: string; readonly value: string; readonly source: string }[];
}

export const showSettings: Route<SettingsParts> = {
  method: "GET",
  path: "/api/settings",
  scope: "operator",
  handler: (parts) => (exchange) => exchange.json({ settings: parts.settings }),
};
