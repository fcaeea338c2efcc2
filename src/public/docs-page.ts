import { createHash } from "node:crypto";
import { catalogue, publicKinds } from "../http/error-catalogue.ts";
import type { Route } from "../http/route.ts";
import style from "./docs/page.css" with { type: "text" };
import htmlFile from "./docs/page.html" with { type: "text" };
import script from "./docs/try-it.browser.js" with { type: "text" };

// Bun types every .html import as a bundle; imported as text it is a string.
const template = htmlFile as unknown as string;

// Only these exact bytes may run or style the page, nothing may be loaded from elsewhere, and it connects only to its own
// origin, so that a token typed here can be sent nowhere else.
const policy = [
  "default-src 'none'",
  `script-src ${hashOf(script)}`,
  `style-src ${hashOf(style)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** A page to read about the service and to try it, complete in one response. Made on the first request. */
export const docsPage: Route<{ readonly url: () => string }> = {
  method: "GET",
  path: "/docs",
  scope: "none",
  handler({ url }) {
    let html: string | undefined;
    return (exchange) => {
      html ??= page(url());
      const headers = { "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer" };
      exchange.respond("text/html; charset=utf-8", html, headers);
    };
  },
};

function page(url: string): string {
  const parts: Record<string, string> = { style, script, errors: errorRows(), url: escapeHtml(url) };
  // A function, because `$` signs in a replacement text would be read as patterns.
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => parts[name] ?? "");
}

function errorRows(): string {
  const rows = publicKinds.map((kind) => {
    const { error, when, remedy } = catalogue[kind];
    return `<tr><th scope="row">${error}</th><td>${marked(when)}</td><td>${marked(remedy)}</td></tr>`;
  });
  return rows.join("\n");
}

function marked(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
