import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";

export interface SettingsParts {
  /** As `plant-store config` lists them: no secret has its value. */
  readonly settings: readonly { readonly name: string; readonly value: string; readonly source: string }[];
}

export const showSettings: Route<SettingsParts> = {
  method: "GET",
  path: "/api/settings",
  scope: "operator",
  operation: {
    operationId: "showSettings",
    tags: ["service"],
    summary: "Lists the settings in force and where each came from. Secrets are listed without their value.",
    success: { status: 200, description: "Every setting.", content: jsonContent("Settings") },
  },
  handler: (parts) => (exchange) => exchange.json({ settings: parts.settings }),
};
