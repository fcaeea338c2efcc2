// Copy on every block of code. The clipboard is available only on HTTPS and localhost.
const copiedMs = 1500;

if (navigator.clipboard !== undefined)
  for (const block of document.querySelectorAll(".code")) block.prepend(copyButton(block));

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

/** What the block is an example of: the number of its error, or its language, or the heading above it. */
function subjectOf(block) {
  const article = block.closest("article");
  if (article !== null) return article.id;
  const summary = block.closest("details")?.querySelector("summary");
  if (summary) return summary.textContent;
  const headings = [...block.closest(".example").querySelectorAll("h3")];
  const above = headings.findLast(
    (heading) => heading.compareDocumentPosition(block) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  return above.textContent;
}
