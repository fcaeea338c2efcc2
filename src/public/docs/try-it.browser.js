// The form of the docs page. The body is built as text, because a JavaScript number would round an id beyond 2^53.
const form = document.getElementById("form");
const output = document.getElementById("response");
const send = form.querySelector("button[type=submit]");
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const headerNames = ["x-request-id", "idempotent-replayed", "www-authenticate", "retry-after"];
const tokenMissing = "<ACCESS_TOKEN>";
// In the samples of "Create a plant", from which these are made: where the token stands, and the body as each language writes it.
const filledIn = /(<ACCESS_TOKEN>|['`]\{"id": 1,.*?\}['`])/;
// They may not stand in the source of a program, or nobody would see them there.
const invisible = /[\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\ufeff]/g;

// How each language writes a text: `body` with its quotation marks, `token` inside some.
const literals = {
  curl: {
    body: (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`,
    token: (text) => text.replaceAll("'", String.raw`'\''`),
  },
  javascript: { body: singleQuoted, token: escaped },
  python: { body: singleQuoted, token: escaped },
  go: {
    body: (text) => (/`/.test(text) || text.search(invisible) >= 0 ? `"${escaped(text)}"` : `\`${text}\``),
    token: escaped,
  },
};
const samples = Object.entries(literals).map(([language, literal]) => ({
  literal,
  parts: document.querySelector(`#create-samples .${language} pre`).textContent.split(filledIn),
  shown: document.querySelector(`#try-samples .${language} pre`),
}));

const value = (name) => form.elements.namedItem(name).value;

function body() {
  const id = value("id").trim();
  const members = [
    `"id": ${jsonNumber.test(id) ? id : JSON.stringify(id)}`,
    `"name": ${JSON.stringify(value("name"))}`,
  ];
  if (value("tag") !== "") members.push(`"tag": ${JSON.stringify(value("tag"))}`);
  return `{${members.join(", ")}}`;
}

function showRequests() {
  const token = value("token").trim();
  for (const { literal, parts, shown } of samples)
    shown.replaceChildren(
      ...parts.map((part, index) => {
        if (index % 2 === 0) return part;
        if (part !== tokenMissing) return literal.body(body());
        // The token is hidden on the screen as in its field, and complete in what is copied.
        return token === "" ? part : element("span", "secret", literal.token(token));
      }),
    );
}

/** For a literal in double quotes, in JavaScript, Python and Go alike. */
function escaped(text) {
  return JSON.stringify(text).slice(1, -1).replaceAll(invisible, unicodeEscape);
}

function singleQuoted(text) {
  const inner = text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll(invisible, unicodeEscape);
  return `'${inner}'`;
}

function unicodeEscape(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function element(tag, className, text) {
  const created = document.createElement(tag);
  created.className = className;
  created.textContent = text;
  return created;
}

async function sendPlant() {
  const started = performance.now();
  const headers = { Authorization: `Bearer ${value("token").trim()}`, "Content-Type": "application/json" };
  const response = await fetch("plants", { method: "POST", headers, body: body() });
  const text = await response.text();
  const elapsedMs = Math.max(1, Math.round(performance.now() - started));
  const status = element(
    "p",
    response.ok ? "outcome" : "outcome bad",
    `${response.status} ${response.statusText} `,
  );
  status.append(element("small", "", `in ${elapsedMs} ms`));
  const lines = headerNames
    .filter((name) => response.headers.has(name))
    .map((name) => `${name}: ${response.headers.get(name)}`);
  output.replaceChildren(status, element("pre", "body", text), element("pre", "headers", lines.join("\n")));
  const explained = /^\{"error":(\d+)/.exec(text)?.[1];
  if (document.getElementById(explained) === null) return;
  const link = element("a", "", `What to do about ${explained}`);
  link.href = `#${explained}`;
  output.append(link);
}

form.addEventListener("input", showRequests);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  send.disabled = true;
  try {
    await sendPlant();
  } catch (error) {
    const message = element("p", "outcome bad", "The request failed: ");
    message.append(element("small", "", String(error.message ?? error)));
    output.replaceChildren(message);
  } finally {
    send.disabled = false;
  }
});
showRequests();
// Without this script there is nothing to try.
for (const part of document.querySelectorAll(".try > [hidden]")) part.hidden = false;
