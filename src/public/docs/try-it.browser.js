// The form of the docs page. The body is built as text, because a JavaScript number would round an id beyond 2^53.
const form = document.getElementById("form");
const command = document.getElementById("command");
const output = document.getElementById("response");
const copy = document.getElementById("copy");
const languages = document.getElementById("languages");
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

// Stands for the token in the examples: a body of JSON never contains it.
const tokenPlace = "\0";
const examples = {
  curl: (url, body) => `curl ${url} \\
  -H 'Authorization: Bearer ${tokenPlace}' \\
  -H 'Content-Type: application/json' \\
  -d '${body.replaceAll("'", String.raw`'\''`)}'`,
  javascript: (url, body) => `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: {
    Authorization: "Bearer ${tokenPlace}",
    "Content-Type": "application/json",
  },
  // Text, because a JavaScript number would round an id beyond 2^53.
  body: ${JSON.stringify(body)},
});
console.log(response.status, await response.text());`,
  python: (url, body) => `import urllib.error, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=${JSON.stringify(body)}.encode(),
    headers={
        "Authorization": "Bearer ${tokenPlace}",
        "Content-Type": "application/json",
    },
)
try:
    response = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    response = error
print(response.status, response.read().decode())`,
  go: (url, body) => `package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

func main() {
	body := ${JSON.stringify(body)}
	request, err := http.NewRequest("POST", ${JSON.stringify(url)}, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer ${tokenPlace}")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(text))
}`,
};

function showCommand() {
  const language = languages.querySelector("[aria-pressed=true]").value;
  const [before, after] = examples[language](`${base}/plants`, body()).split(tokenPlace);
  const token = value("token").trim();
  // The token is hidden on the screen as in its field, and complete in what is copied.
  const shown = token === "" ? tokenMissing : element("span", "secret", token);
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
languages.addEventListener("click", (event) => {
  const chosen = event.target.closest("button");
  if (chosen === null) return;
  for (const button of languages.children) button.setAttribute("aria-pressed", String(button === chosen));
  showCommand();
});
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
// The console opens this page in its own tab. Its address stays unknown here: anyone may read this page.
const back = document.getElementById("back");
const lengthAtStart = history.length;
back.hidden = location.hash !== "#from-console" || lengthAtStart === 1;
back.addEventListener("click", () => history.go(lengthAtStart - history.length - 1));
showCommand();
// Without this script there is nothing to try.
for (const part of document.querySelectorAll(".try > [hidden]")) part.hidden = false;
