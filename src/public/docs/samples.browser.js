// The language of the samples, which is chosen once for the whole page and kept for the next visit, and Copy on every block.
const names = { curl: "curl", javascript: "JavaScript", python: "Python", go: "Go" };
const copiedMs = 1500;

for (const samples of document.querySelectorAll(".samples")) {
  const choice = document.createElement("div");
  choice.className = "choice";
  choice.role = "group";
  choice.ariaLabel = "Language of the samples";
  for (const [language, name] of Object.entries(names)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.dataset.choose = language;
    button.addEventListener("click", () => choose(language, button));
    choice.append(button);
  }
  samples.querySelector(".title").append(choice);
}
markChosen();

// The clipboard is available only on HTTPS and localhost.
if (navigator.clipboard !== undefined)
  for (const block of document.querySelectorAll(".code")) block.prepend(copyButton(block));

function choose(language, button) {
  const topBefore = button.getBoundingClientRect().top;
  document.documentElement.dataset.language = language;
  markChosen();
  // The samples above have other heights now; what was clicked stays where it is.
  scrollBy({ top: button.getBoundingClientRect().top - topBefore, behavior: "instant" });
  try {
    localStorage.setItem("plant-store-language", language);
  } catch {
    // The browser is set to keep nothing for this site: the choice holds until the page is closed.
  }
}

function markChosen() {
  const { language } = document.documentElement.dataset;
  for (const button of document.querySelectorAll("[data-choose]"))
    button.ariaPressed = String(button.dataset.choose === language);
}

function copyButton(block) {
  const subject = subjectOf(block);
  const button = document.createElement("button");
  const show = (word) => {
    button.textContent = word;
    button.ariaLabel = `${word} ${subject}`;
  };
  button.type = "button";
  button.className = "bare";
  show("Copy");
  button.addEventListener("click", async () => {
    const texts = [...block.querySelectorAll("pre")].map(({ textContent }) => textContent);
    await navigator.clipboard.writeText(texts.join("\n\n"));
    show("Copied");
    setTimeout(() => show("Copy"), copiedMs);
  });
  return button;
}

/** What the block is an example of: the number of its error, or the heading above it. */
function subjectOf(block) {
  const article = block.closest("article");
  if (article !== null) return article.id;
  const headings = [...block.closest(".example").querySelectorAll("h3")];
  const above = headings.findLast(
    (heading) => heading.compareDocumentPosition(block) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  return above.textContent;
}
