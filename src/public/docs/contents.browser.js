// Marks the section in view in the contents.
const nav = document.querySelector("nav");
const links = [...nav.querySelectorAll("a")];
// A heading counts as reached a little before it is at the top, where a link to it stops.
const reachedPx = 100;

function mark() {
  const current = currentLink();
  for (const link of links) {
    if (link === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  keepInView(current);
}

function currentLink() {
  const shown = links.filter((link) => headingOf(link).checkVisibility());
  const isAtEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
  // The last sections are too short to reach the top: one that was followed to is the one in view.
  const followed = shown.find((link) => link.hash === location.hash);
  if (isAtEnd && followed !== undefined && topOf(followed) > 0 && topOf(followed) < innerHeight)
    return followed;
  if (isAtEnd) return shown.at(-1);
  return shown.findLast((link) => topOf(link) <= reachedPx) ?? shown[0];
}

function headingOf(link) {
  return document.getElementById(link.hash.slice(1));
}

function topOf(link) {
  return headingOf(link).getBoundingClientRect().top;
}

/** Scrolls the contents alone: `scrollIntoView` would scroll the page too. */
function keepInView(link) {
  const box = nav.getBoundingClientRect();
  const { top, bottom } = link.getBoundingClientRect();
  if (top < box.top) nav.scrollTop -= box.top - top;
  else if (bottom > box.bottom) nav.scrollTop += bottom - box.bottom;
}

// A browser sends the first of these at most once per frame.
addEventListener("scroll", mark, { passive: true });
addEventListener("resize", mark);
addEventListener("hashchange", mark);
new ResizeObserver(mark).observe(document.querySelector("main"));
