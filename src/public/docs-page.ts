import { createHash } from "node:crypto";
import { catalogue, type ErrorKind, publicKinds, statusOf } from "../http/error-catalogue.ts";
import { page } from "../http/reply.ts";
import { reasonPhrases } from "../http/response-head.ts";
import { type Route, route } from "../http/route.ts";
import baseStyle from "../style/base.css" with { type: "text" };
import tokens from "../style/tokens.css" with { type: "text" };
import { capitalized } from "../text/words.ts";
import copy from "./docs/copy.browser.js" with { type: "text" };
import pageStyle from "./docs/page.css" with { type: "text" };
import htmlFile from "./docs/page.html" with { type: "text" };
import tryIt from "./docs/try-it.browser.js" with { type: "text" };

// Bun types every .html import as a bundle; imported as text it is a string.
const template = htmlFile as unknown as string;
const style = `${tokens}${baseStyle}${pageStyle}`;
// The scripts by their names in the template.
const scripts = { copy, "try-it": tryIt };

// Only these exact bytes may run or style the page, nothing may be loaded from elsewhere, and it connects only to its own
// origin, so that a token typed here can be sent nowhere else.
const policy = [
  "default-src 'none'",
  `script-src ${Object.values(scripts).map(hashOf).join(" ")}`,
  `style-src ${hashOf(style)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const docsPath = "/docs";
const kindsByStatus = Map.groupBy(publicKinds, statusOf);

/** A page to read about the service and to try it, complete in one response. Made on the first request. */
export function docsRoute(url: () => string): Route {
  let html: Buffer | undefined;
  return route("GET", docsPath, "none", () => {
    html ??= Buffer.from(formatPage(url()));
    const headers = { "Content-Security-Policy": policy, "Referrer-Policy": "no-referrer" };
    return page("text/html; charset=utf-8", html, headers);
  });
}

function formatPage(url: string): string {
  const parts: Record<string, string> = {
    ...scripts,
    style,
    url: escapeHtml(url),
    statuses: [...kindsByStatus.keys()].map(contentsEntry).join("\n"),
    errors: [...kindsByStatus].map(([status, kinds]) => statusSection(status, kinds)).join("\n"),
  };
  // A function, because `$` signs in a replacement text would be read as patterns. The name of an error stands for its body.
  return template.replaceAll(
    /\{\{([\w-]+)\}\}/g,
    (_, name: string) => parts[name] ?? errorBody(name as ErrorKind),
  );
}

function contentsEntry(status: number): string {
  return `<li><a href="#status-${status}">${status}<span> ${reasonPhrases[status]}</span></a></li>`;
}

function statusSection(status: number, kinds: readonly ErrorKind[]): string {
  return `<section class="status" aria-labelledby="status-${status}">
<h3 id="status-${status}">${status} ${reasonPhrases[status]}</h3>
${kinds.map(errorEntry).join("\n")}
</section>`;
}

function errorEntry(kind: ErrorKind): string {
  const { error, when, remedy } = catalogue[kind];
  return `<article id="${error}">
<div><h4><a href="#${error}">${error}</a> ${marked(capitalized(when))}</h4><p>${marked(remedy)}</p></div>
<div class="code"><pre>${errorBody(kind)}</pre></div>
</article>`;
}

function errorBody(kind: ErrorKind): string {
  const { error, example } = catalogue[kind];
  return escapeHtml(JSON.stringify({ error, message: example }));
}

function marked(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}

/** For text between tags. */
function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
