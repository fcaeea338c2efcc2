// The form of the docs page. The body is put together as text, because an id beyond 2^53 does not survive as a
// JavaScript number.
const form = document.getElementById("form");
const command = document.getElementById("command");
const answer = document.getElementById("answer");
const copy = document.getElementById("copy");
const send = form.querySelector("button[type=submit]");
const base = document.getElementById("base").textContent;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const shownHeaders = ["x-request-id", "idempotent-replayed", "www-authenticate", "retry-after"];

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

function showCommand() {
  const quoted = body().replaceAll("'", String.raw`'\''`);
  command.textContent = [
    `curl ${base}/plants \\`,
    "  -H 'Authorization: Bearer <ACCESS_TOKEN>' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '${quoted}'`,
  ].join("\n");
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

async function sendPlant() {
  const started = performance.now();
  const headers = { Authorization: `Bearer ${value("token").trim()}`, "Content-Type": "application/json" };
  const response = await fetch("plants", { method: "POST", headers, body: body() });
  const text = await response.text();
  const took = Math.max(1, Math.round(performance.now() - started));
  const status = element(
    "p",
    response.ok ? "status" : "status bad",
    `${response.status} ${response.statusText} `,
  );
  status.append(element("small", "", `in ${took} ms`));
  const lines = shownHeaders
    .filter((name) => response.headers.has(name))
    .map((name) => `${name}: ${response.headers.get(name)}`);
  answer.replaceChildren(status, element("pre", "body", text), element("pre", "headers", lines.join("\n")));
}

form.addEventListener("input", showCommand);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  send.disabled = true;
  try {
    await sendPlant();
  } catch (error) {
    const message = element("p", "status bad", "The request did not go through: ");
    message.append(element("small", "", String(error.message ?? error)));
    answer.replaceChildren(message);
  } finally {
    send.disabled = false;
  }
});
// Browsers offer the clipboard only to secure origins and this machine's own.
copy.hidden = navigator.clipboard === undefined;
copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(command.textContent);
  copy.textContent = "Copied";
  setTimeout(() => {
    copy.textContent = "Copy";
  }, 1500);
});
showCommand();
