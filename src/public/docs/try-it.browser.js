// The form of the docs page. The body is built as text, because a JavaScript number would round an id beyond 2^53.
const form = document.getElementById("form");
const command = document.getElementById("command");
const output = document.getElementById("response");
const copy = document.getElementById("copy");
const send = form.querySelector("button[type=submit]");
const base = document.getElementById("base").textContent;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const headerNames = ["x-request-id", "idempotent-replayed", "www-authenticate", "retry-after"];
const tokenMissing = "<ACCESS_TOKEN>";

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
  const token = value("token").trim();
  // The token is hidden on the screen as in its field, and complete in what is copied.
  const shown = token === "" ? tokenMissing : element("span", "secret", token);
  const before = `curl ${base}/plants \\\n  -H 'Authorization: Bearer `;
  const quotedBody = body().replaceAll("'", String.raw`'\''`);
  const after = `' \\\n  -H 'Content-Type: application/json' \\\n  -d '${quotedBody}'`;
  command.replaceChildren(before, shown, after);
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
    response.ok ? "status" : "status bad",
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

form.addEventListener("input", showCommand);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  send.disabled = true;
  try {
    await sendPlant();
  } catch (error) {
    const message = element("p", "status bad", "The request failed: ");
    message.append(element("small", "", String(error.message ?? error)));
    output.replaceChildren(message);
  } finally {
    send.disabled = false;
  }
});
// The clipboard is available only on HTTPS and localhost.
copy.hidden = navigator.clipboard === undefined;
copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(command.textContent);
  copy.textContent = "Copied";
  setTimeout(() => {
    copy.textContent = "Copy";
  }, 1500);
});
showCommand();
// Without this script there is nothing to try.
for (const part of document.querySelectorAll(".try > [hidden]")) part.hidden = false;
