// The filter over the errors: by any words that they show, which are their numbers, statuses, texts and messages.
const filter = document.getElementById("filter");
const input = document.getElementById("filter-text");
const result = document.getElementById("filter-result");
const sections = [...document.querySelectorAll("section.status")].map((section) => {
  const heading = section.querySelector("h3");
  return {
    section,
    inContents: document.querySelector(`nav a[href="#${heading.id}"]`).parentElement,
    articles: [...section.querySelectorAll("article")].map((article) => ({
      article,
      text: textOf(heading, ...article.querySelectorAll("h4, p, pre")),
    })),
  };
});
// Without punctuation, which a word has where it was copied from, such as in a JSON body.
const wordPattern = /[\p{L}\p{N}_-]+/gu;
const total = sections.reduce((sum, { articles }) => sum + articles.length, 0);

function textOf(...elements) {
  return elements
    .map(({ textContent }) => textContent)
    .join(" ")
    .toLowerCase();
}

function showMatches() {
  const words = input.value.toLowerCase().match(wordPattern) ?? [];
  let matches = 0;
  for (const { section, inContents, articles } of sections) {
    let isEmpty = true;
    for (const { article, text } of articles) {
      const isMatch = words.every((word) => text.includes(word));
      article.hidden = !isMatch;
      if (!isMatch) continue;
      isEmpty = false;
      matches++;
    }
    section.hidden = isEmpty;
    inContents.hidden = isEmpty;
  }
  if (words.length === 0) result.textContent = "";
  else result.textContent = matches === 0 ? "No errors match." : `${matches} of ${total} errors match.`;
}

/** A link may lead to an error that the filter hides. */
function showTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target === null || target.checkVisibility()) return;
  input.value = "";
  showMatches();
  target.scrollIntoView();
}

input.addEventListener("input", showMatches);
addEventListener("hashchange", showTarget);
filter.hidden = false;
